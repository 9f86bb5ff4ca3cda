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

#include <optional>

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

struct FedDkdSpec : PeriodSpec {
    int64_t distill_steps;
    std::optional<double> distill_lr;  ///< Empty: the learning rate of the iteration.
    double temperature;

    static const base::Section<FedDkdSpec>& section();
};

const base::Section<FedDkdSpec>& FedDkdSpec::section() {
    using P = base::Parameter;
    static const base::Section<FedDkdSpec> keys{
        {period_parameter("8"), &FedDkdSpec::period},
        {P::integer("distill_steps", "5", "S, each averages again; 0 is local_sgd").at_least(0),
         &FedDkdSpec::distill_steps},
        {P::number("distill_lr", "null", "learning rate of these steps; null: the iteration's")
             .at_least(0)
             .or_null(),
         &FedDkdSpec::distill_lr},
        {P::number("temperature", "1", "T: both outputs are divided by it").greater_than(0),
         &FedDkdSpec::temperature},
    };
    return keys;
}

class FedDkd final : public BufferedAdaptThenCombine {
public:
    FedDkd(const FedDkdSpec& spec, const AlgorithmContext& context)
        : BufferedAdaptThenCombine(context.schedule),
          period_(spec.period),
          steps_(spec.distill_steps),
          temperature_(spec.temperature),
          rate_(spec.distill_lr) {}

    void declare(arena::StateTable& state) override {
        message_buffer_ = steps_ > 0 ? state.peer_readable_scratch() : state.message();
    }
    Sent sent(int64_t, graphs::Round round) const override {
        Sent all = rows_sent(round, static_cast<int>(1 + steps_));
        all.averagings *= 1 + steps_;
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

std::unique_ptr<Algorithm> make_feddkd(const FedDkdSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<FedDkd>(spec, context);
}

void refine_feddkd(const FedDkdSpec& spec, Traits& traits) {
    traits.temperature = spec.temperature;
}

}  // namespace

AlgorithmEntry feddkd_entry() {
    return {"feddkd",
            "local steps, an averaging, and steps of distillation from the local models",
            make_feddkd,
            {.distils = true, .mean = MeanRule::none, .bias = Bias::none},
            {.schedule = after_local_steps, .refine = refine_feddkd}};
}

}  // namespace dbench::algorithms
