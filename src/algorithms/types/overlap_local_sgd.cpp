// Overlap Local-SGD (Wang, Liang and Joshi 2020, arXiv 2002.09539; code: JYWa/Overlap_Local_SGD):
// local steps, pulled towards an anchor z that was averaged during them,
//
//     x <- x - lr d(g(x));   after every H-th iteration, with z = W s of the exchange before:
//     x <- (1 - alpha) x + alpha z;   b <- beta b + (z - x) / lr;   then s = z - lr b is sent
//
// z is the start at the first exchange, where nothing was sent before. On the complete graph this
// is the paper's. One row per neighbour and exchange, during the local steps after it; keeps s and
// b.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/late_mix.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

class OverlapLocalSgd final : public LateSteps {
public:
    OverlapLocalSgd(const graphs::Schedule* schedule, int64_t period, double alpha, double beta)
        : LateSteps(schedule, period), alpha_(alpha), beta_(beta) {}

    void declare(arena::StateTable& state) override {
        sent_ = state.rows("algorithm/anchor");
        momentum_ = state.rows("algorithm/momentum");
        anchor_ = state.scratch();
    }
    void before_forward(Step& step) override {
        if (step.t == 0) step.copy(step.x, sent_, step.layout.all());
    }

protected:
    void exchanged(Step& step, bool first) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows z = anchor_.rows();
        const double lr = step.numbers.lr;
        if (first) {
            step.copy(sent_, z, all);
        } else {
            late_.finish(step, sent_, z);
        }
        step.combine(step.x, {{1 - alpha_, step.x}, {alpha_, z}}, all);
        step.combine(momentum_, {{beta_, momentum_}, {1 / lr, z}, {-1 / lr, step.x}}, all);
        step.combine(sent_, {{1, z}, {-lr, momentum_}}, all);
        late_.start(step, sent_);
    }

private:
    double alpha_, beta_;
    arena::Rows sent_, momentum_;
    arena::Buffer anchor_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<OverlapLocalSgd>(context.schedule, spec.at("period"), spec.at("alpha"),
                                             spec.at("beta"));
}

}  // namespace

AlgorithmEntry overlap_local_sgd_entry() {
    return {
        {"overlap_local_sgd",
         "local steps, pulled towards an anchor that is averaged meanwhile (Overlap Local-SGD)",
         {period_parameter("2"),
          base::Parameter::number("alpha", "0.6", "how far towards the anchor")
              .at_least(0)
              .at_most(1),
          base::Parameter::number("beta", "0.7", "momentum of the anchor").at_least(0).at_most(1)}},
        make,
        {.divides_by_lr = true},
        {.mean = MeanRule::none, .plain_alone = false},
        after_local_steps};
}

}  // namespace dbench::algorithms
