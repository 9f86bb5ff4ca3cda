// QG-DSGDm, quasi-global momentum (Lin et al. 2021, arXiv 2102.04761, algorithm 2): the momentum
// follows the change of the averaged parameters, which estimates the global direction.
//
//     m = beta m^ + g(x);   x+ = W (x - lr m);   m^ <- mu m^ + (1 - mu) (x - x+) / lr
//
// The Nesterov form uses g + beta m instead of m.
//
// * State: m^. Scratch for the message.
// * Sends: one row per neighbour and iteration, bucket by bucket during backward.
// * Requires: plain SGD; the learning rate must never be 0.

#include <optional>

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

struct QgDsgdmSpec {
    double beta;
    std::optional<double> mu;  ///< Empty: beta.
    bool nesterov;

    static const base::Section<QgDsgdmSpec>& section();
};

const base::Section<QgDsgdmSpec>& QgDsgdmSpec::section() {
    using P = base::Parameter;
    static const base::Section<QgDsgdmSpec> keys{
        {P::number("beta", "0.9", "momentum").at_least(0).at_most(1), &QgDsgdmSpec::beta},
        {P::number("mu", "null", "share of the momentum m^ that is kept; null: beta")
             .at_least(0)
             .at_most(1)
             .or_null(),
         &QgDsgdmSpec::mu},
        {P::flag("nesterov", "false", "applies g + beta m"), &QgDsgdmSpec::nesterov},
    };
    return keys;
}

class QgDsgdm final : public AdaptThenCombine {
public:
    QgDsgdm(const graphs::Schedule* schedule, double beta, double mu, bool nesterov)
        : AdaptThenCombine(schedule), beta_(beta), mu_(mu), nesterov_(nesterov) {}

    void declare(arena::StateTable& state) override {
        m_hat_ = state.rows("algorithm/momentum");
        message_ = state.scratch();
    }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        if (nesterov_) {  // g + beta m
            step.combine(step.g, {{1 + beta_, step.g}, {beta_ * beta_, m_hat_}}, columns);
        } else {
            step.combine(step.g, {{1, step.g}, {beta_, m_hat_}}, columns);
        }
        step.apply_direction(message_.rows(), step.x, step.g, columns);
    }
    arena::Rows message(Step&) override { return message_.rows(); }
    void combined(Step& step) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows next = message_.rows();
        const double change = (1 - mu_) / step.numbers.lr;
        step.combine(m_hat_, {{mu_, m_hat_}, {change, step.x}, {-change, next}}, all);
        step.copy(next, step.x, all);
    }

private:
    double beta_, mu_;
    bool nesterov_;
    arena::Rows m_hat_;
    arena::Buffer message_;
};

std::unique_ptr<Algorithm> make_qg_dsgdm(const QgDsgdmSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<QgDsgdm>(context.schedule, spec.beta, spec.mu.value_or(spec.beta),
                                     spec.nesterov);
}

}  // namespace

AlgorithmEntry qg_dsgdm_entry() {
    return {"qg_dsgdm",
            "momentum that follows the averaged parameters (quasi-global)",
            make_qg_dsgdm,
            {.optimizer = OptimizerNeed::plain_sgd,
             .divides_by_lr = true,
             .mean = MeanRule::quasi_global,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
