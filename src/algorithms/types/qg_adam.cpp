// QG-Adam, quasi-global Adam (Lin et al. 2021, arXiv 2102.04761, as in the authors' code:
// github.com/epfml/quasi-global-momentum, decentralized_qg_adam.py). Its moments follow the
// normalised change of the averaged parameters. The factor of g in m is 1 there, not 1 - beta1, on
// purpose (the repository's issue 1):
//
//     m = beta1 m^ + g(x);   v = beta2 v^ + (1 - beta2) g^2                       (not kept)
//     x+ = W (x - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)),   t = 1, 2, ...
//     d = (x - x+) / (||x - x+|| + norm_eps)                 one norm over all of the replica's x
//     m^ <- beta1 m^ + (1 - beta1) d;   v^ <- beta2 v^ + (1 - beta2) d^2
//
// * State: m^ and v^. Scratch for the message.
// * Sends: one row per neighbour and iteration, bucket by bucket during backward.
// * Requires: plain SGD.

#include "arena/updates/qg_adam.hpp"
#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "arena/sums/row_factors.hpp"

namespace dbench::algorithms {
namespace {

struct QgAdamSpec {
    double beta1, beta2, eps, norm_eps;

    static const base::Section<QgAdamSpec>& section();
};

const base::Section<QgAdamSpec>& QgAdamSpec::section() {
    using P = base::Parameter;
    static const base::Section<QgAdamSpec> keys{
        {moment_parameter("beta1", "0.9", "decay of the first moment"), &QgAdamSpec::beta1},
        {moment_parameter("beta2", "0.999", "decay of the second moment"), &QgAdamSpec::beta2},
        {P::number("eps", "1e-8", "added to the root of the second moment").at_least(0),
         &QgAdamSpec::eps},
        {P::number("norm_eps", "1e-8", "added to the norm of the change").greater_than(0),
         &QgAdamSpec::norm_eps},
    };
    return keys;
}

class QgAdam final : public AdaptThenCombine {
public:
    QgAdam(const graphs::Schedule* schedule, const QgAdamSpec& spec)
        : AdaptThenCombine(schedule),
          beta1_(spec.beta1),
          beta2_(spec.beta2),
          eps_(spec.eps),
          factors_(arena::FactorRule::inverse, spec.norm_eps) {}

    void declare(arena::StateTable& state) override {
        m_hat_ = state.rows("algorithm/first_moment");
        v_hat_ = state.rows("algorithm/second_moment");
        message_ = state.scratch();
    }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        const TimedScope scope(step.timers, Time::update);
        arena::qg_adam_update(step.layout, message_.rows(), step.x, step.g, m_hat_, v_hat_, columns,
                              numbers(step), step.probe.squared_update(), step.queue);
    }
    arena::Rows message(Step&) override { return message_.rows(); }
    void combined(Step& step) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows next = message_.rows();
        step.combine(step.g, {{1, step.x}, {-1, next}}, all);
        const TimedScope scope(step.timers, Time::update);
        const double* const factors = factors_.of(step.layout, step.g, step.queue);
        arena::qg_adam_moments(step.layout, step.x, next, factors, m_hat_, v_hat_, all,
                               numbers(step), step.queue);
        arena::copy(next, step.x, all, step.queue);
    }

private:
    arena::QgAdamHyperparameters numbers(const Step& step) const {
        return {step.numbers.lr, beta1_, beta2_, eps_, step.numbers.step};
    }

    double beta1_, beta2_, eps_;
    arena::RowFactors factors_;
    arena::Rows m_hat_, v_hat_;
    arena::Buffer message_;
};

std::unique_ptr<Algorithm> make_qg_adam(const QgAdamSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<QgAdam>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry qg_adam_entry() {
    return {"qg_adam",
            "Adam whose moments follow the averaged parameters (quasi-global)",
            make_qg_adam,
            {.optimizer = OptimizerNeed::plain_sgd,
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
