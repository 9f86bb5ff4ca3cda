// DecentLaM (Yuan et al. 2021, arXiv 2104.11981): momentum over the combined direction of averaging
// and gradient. This removes the momentum's part of the bias under heterogeneous data:
//
//     g~ = (x - W (x - lr g(x))) / lr;   m <- beta m + g~;   x <- x - lr m
//
// * State: m. Scratch for the message.
// * Sends: one row per neighbour and iteration, bucket by bucket during backward.
// * Requires: plain SGD; the learning rate must never be 0.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

struct DecentLaMSpec {
    double beta;

    static const base::Section<DecentLaMSpec>& section();
};

const base::Section<DecentLaMSpec>& DecentLaMSpec::section() {
    static const base::Section<DecentLaMSpec> keys{
        {base::Parameter::number("beta", "0.9", "momentum").at_least(0).at_most(1),
         &DecentLaMSpec::beta},
    };
    return keys;
}

class DecentLaM final : public AdaptThenCombine {
public:
    DecentLaM(const graphs::Schedule* schedule, double beta)
        : AdaptThenCombine(schedule), beta_(beta) {}

    void declare(arena::StateTable& state) override {
        m_ = state.rows("algorithm/momentum");
        message_ = state.scratch();
    }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        step.apply_direction(message_.rows(), step.x, step.g, columns);
    }
    arena::Rows message(Step&) override { return message_.rows(); }
    void combined(Step& step) override {
        const double lr = step.numbers.lr;
        const arena::Columns all = step.layout.all();
        step.combine(m_, {{beta_, m_}, {1 / lr, step.x}, {-1 / lr, message_.rows()}}, all);
        step.combine(step.x, {{1, step.x}, {-lr, m_}}, all);
    }

private:
    double beta_;
    arena::Rows m_;
    arena::Buffer message_;
};

std::unique_ptr<Algorithm> make_decentlam(const DecentLaMSpec& spec,
                                          const AlgorithmContext& context) {
    return std::make_unique<DecentLaM>(context.schedule, spec.beta);
}

}  // namespace

AlgorithmEntry decentlam_entry() {
    return {"decentlam",
            "momentum over the combined direction of averaging and gradient (DecentLaM)",
            make_decentlam,
            {.optimizer = OptimizerNeed::plain_sgd,
             .divides_by_lr = true,
             .mean = MeanRule::momentum,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
