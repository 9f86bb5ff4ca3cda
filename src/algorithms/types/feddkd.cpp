// FedDKD, decentralized knowledge distillation (Li et al. 2022, arXiv 2205.00706). The authors'
// text and code were not available: this follows the abstract and third-party code, whose server
// averages the clients' models and then distils all of them into the average. Our decentralized
// reading replaces the server by W. After every H-th local step, with any local optimizer:
//
//     theta = x;   s <- W theta;   S times  s <- W (s - lr_d grad D(s));   x <- s
//     D_i(s) = T^2 KL(softmax theta_i(a) / T || softmax s(a) / T)
//
// a are the replica's own minibatches of the H local steps, the last one first. On the complete
// graph this is the server's form. S = 0 is local_sgd.
//
// * State: none between iterations; theta during an exchange.
// * Sends: 1 + S rows per neighbour and exchange.
// * Requires: nothing beyond a doubly stochastic W (T = 1 for real targets).

#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

class FedDkd final : public BufferedAdaptThenCombine {
public:
    FedDkd(const base::Json& spec, const AlgorithmContext& context)
        : BufferedAdaptThenCombine(context.schedule),
          period_(spec.at("period")),
          steps_(spec.at("distill_steps")),
          temperature_(spec.at("temperature")) {
        if (!spec.at("distill_lr").is_null()) rate_ = spec.at("distill_lr").get<double>();
    }

    void declare(arena::StateTable& state) override {
        message_buffer_ = steps_ > 0 ? state.peer_readable_scratch() : state.message();
    }
    Sent sent(int64_t, graphs::Round round) const override {
        Sent all = rows_sent(round, static_cast<int>(1 + steps_));
        all.rounds *= 1 + steps_;
        return all;
    }

protected:
    void combined(Step& step) override {
        if (!averages(step.round)) return;
        const arena::Rows theta = message_buffer_.rows();
        const double rate = rate_.value_or(step.numbers.lr);
        for (int64_t s = 0; s < steps_; ++s) {
            step.distil(theta, step.t - s % period_, temperature_);
            step.combine(step.x, {{1, step.x}, {-rate, step.g}}, step.layout.all());
            step.mix(step.x, step.x);
        }
    }

private:
    int64_t period_, steps_;
    double temperature_;
    std::optional<double> rate_;
};

std::unique_ptr<Algorithm> make_feddkd(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<FedDkd>(spec, context);
}

}  // namespace

AlgorithmEntry feddkd_entry() {
    using P = base::Parameter;
    AlgorithmEntry entry{
        {"feddkd",
         "local steps, an averaging, and steps of distillation from the local models",
         {period_parameter("8"),
          P::integer("distill_steps", "5", "S, each averages again; 0 is local_sgd").at_least(0),
          P::number("distill_lr", "null", "learning rate of these steps; null: the iteration's")
              .at_least(0)
              .or_null(),
          P::number("temperature", "1", "T: both outputs are divided by it").greater_than(0)}},
        make_feddkd,
        {.distils = true, .mean = MeanRule::none, .bias = Bias::none},
        after_local_steps};
    entry.refine = [](const base::Json& spec, Traits& traits) {
        traits.temperature = spec.at("temperature");
    };
    return entry;
}

}  // namespace dbench::algorithms
