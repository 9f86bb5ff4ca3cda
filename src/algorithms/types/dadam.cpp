// DADAM (Nazari, Tarzanagh and Michailidis 2019, arXiv 1901.09109; code: Tarzanagh/DADAM): Adam
// combined with averaging, whose second moment u is never far below its largest value so far.
//
//     m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   m^, v^ corrected for their start at 0
//     u <- b3 u + (1 - b3) max(u, v^);   x+ = W x - lr m^ / (sqrt(u) + eps)
//
// b3 = 0 is AMSGrad with corrected moments; b3 = 1 leaves u at 0. The authors' code has two forms.
// One computes u but divides by sqrt(v^); the other one, which is the paper's, is implemented here.
// Each replica divides by its own u: under heterogeneous data the error does not vanish with the
// learning rate.
//
// * State: m, v and u. Scratch for W x.
// * Sends: one row per neighbour and iteration, during forward and backward.
// * Requires: plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "arena/updates/adaptive.hpp"

namespace dbench::algorithms {
namespace {

struct DadamSpec {
    double beta1, beta2, beta3, eps;

    static const base::Section<DadamSpec>& section();
};

const base::Section<DadamSpec>& DadamSpec::section() {
    using P = base::Parameter;
    static const base::Section<DadamSpec> keys{
        {moment_parameter("beta1", "0.9", "decay of the first moment"), &DadamSpec::beta1},
        {moment_parameter("beta2", "0.999", "decay of the second moment"), &DadamSpec::beta2},
        {P::number("beta3", "0.9", "decay of the long-term second moment").at_least(0).at_most(1),
         &DadamSpec::beta3},
        {P::number("eps", "1e-4", "added to the root of the long-term moment").greater_than(0),
         &DadamSpec::eps},
    };
    return keys;
}

class Dadam final : public MixingAlgorithm {
public:
    Dadam(const graphs::Schedule* schedule, const DadamSpec& spec)
        : MixingAlgorithm(schedule),
          beta1_(spec.beta1),
          beta2_(spec.beta2),
          beta3_(spec.beta3),
          eps_(spec.eps) {}

    void declare(arena::StateTable& state) override {
        first_ = state.rows("algorithm/first_moment");
        second_ = state.rows("algorithm/second_moment");
        long_term_ = state.rows("algorithm/long_term_moment");
        mixed_ = state.scratch();
    }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        exchange_.start(step, step.x);
    }
    void ready(Step& step, arena::Columns columns) override { step.decay(columns); }
    void after_backward(Step& step) override {
        exchange_.finish(step, mixed_.rows());
        step.probe.averaged(mixed_.rows());
        const TimedScope scope(step.timers, Time::update);
        arena::dadam_update(step.layout, step.x, mixed_.rows(), step.g, first_, second_, long_term_,
                            step.layout.all(),
                            {step.numbers.lr, beta1_, beta2_, beta3_, eps_, step.numbers.step},
                            step.probe.squared_update(), step.queue);
    }

private:
    double beta1_, beta2_, beta3_, eps_;
    arena::Rows first_, second_, long_term_;
    arena::Buffer mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_dadam(const DadamSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Dadam>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry dadam_entry() {
    return {"dadam",
            "Adam with a long-term second moment, during averaging (DADAM)",
            make_dadam,
            {.optimizer = OptimizerNeed::plain_sgd,
             .keeps_received_rows = true,
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
