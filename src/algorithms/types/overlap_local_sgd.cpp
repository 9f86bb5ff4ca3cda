// Overlap Local-SGD (Wang, Liang and Joshi 2020, arXiv 2002.09539; code: JYWa/Overlap_Local_SGD):
// local steps that are pulled towards an anchor z, which is averaged during these steps.
//
//     x <- x - lr d(g(x));   after every H-th iteration, with z = W s of the previous exchange:
//     x <- (1 - alpha) x + alpha z;   b <- beta b + (z - x) / lr;   then s = z - lr b is sent
//
// At the first exchange, when nothing was sent before, z is the initial x. On the complete graph
// this is the paper's algorithm.
//
// * State: s and b. Scratch for z.
// * Sends: one row per neighbour and exchange, during the H local steps that follow.
// * Requires: the learning rate must never be 0.

#include "algorithms/delayed_mix.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

struct OverlapLocalSgdSpec : PeriodSpec {
    double alpha, beta;

    static const base::Section<OverlapLocalSgdSpec>& section();
};

const base::Section<OverlapLocalSgdSpec>& OverlapLocalSgdSpec::section() {
    using P = base::Parameter;
    static const base::Section<OverlapLocalSgdSpec> keys{
        {period_parameter("2"), &OverlapLocalSgdSpec::period},
        {P::number("alpha", "0.6", "strength of the pull towards the anchor")
             .at_least(0)
             .at_most(1),
         &OverlapLocalSgdSpec::alpha},
        {P::number("beta", "0.7", "momentum of the anchor").at_least(0).at_most(1),
         &OverlapLocalSgdSpec::beta},
    };
    return keys;
}

class OverlapLocalSgd final : public DelayedMixAlgorithm {
public:
    OverlapLocalSgd(const graphs::Schedule* schedule, int64_t period, double alpha, double beta)
        : DelayedMixAlgorithm(schedule, period), alpha_(alpha), beta_(beta) {}

    void declare(arena::StateTable& state) override {
        sent_ = state.rows("algorithm/anchor");
        momentum_ = state.rows("algorithm/momentum");
        anchor_ = state.scratch();
    }
    void before_forward(Step& step) override {
        if (step.t == 0) step.copy(step.x, sent_, step.layout.all());
    }

protected:
    void at_exchange(Step& step, bool first) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows z = anchor_.rows();
        const double lr = step.numbers.lr;
        if (first) {
            step.copy(sent_, z, all);
        } else {
            delayed_mix_.finish(step, sent_, z);
        }
        step.combine(step.x, {{1 - alpha_, step.x}, {alpha_, z}}, all);
        step.combine(momentum_, {{beta_, momentum_}, {1 / lr, z}, {-1 / lr, step.x}}, all);
        step.combine(sent_, {{1, z}, {-lr, momentum_}}, all);
        delayed_mix_.start(step, sent_);
    }

private:
    double alpha_, beta_;
    arena::Rows sent_, momentum_;
    arena::Buffer anchor_;
};

std::unique_ptr<Algorithm> make_overlap_local_sgd(const OverlapLocalSgdSpec& spec,
                                                  const AlgorithmContext& context) {
    return std::make_unique<OverlapLocalSgd>(context.schedule, spec.period, spec.alpha, spec.beta);
}

}  // namespace

AlgorithmEntry overlap_local_sgd_entry() {
    return {
        "overlap_local_sgd",
        "local steps, pulled towards an anchor that is averaged during them (Overlap Local-SGD)",
        make_overlap_local_sgd,
        {.divides_by_lr = true,
         .keeps_received_rows = true,
         .mean = MeanRule::none,
         .plain_alone = false},
        {.schedule = after_local_steps}};
}

}  // namespace dbench::algorithms
