// GUT, Global Update Tracking (Aketi, Hashemi and Roy 2023, arXiv 2305.04792), and its form with
// momentum, QG-GUTm, as in the authors' training code
// (github.com/aparna-aketi/global_update_tracking): tracks the mean update without sending more
// than D-PSGD. With g at p = W x:
//
//     delta = g - (p - x) / lr
//     y     = delta - mu ((p - x_before + (b - 1) (p_before - x_before)) / lr + delta_before)
//     m    <- beta m + y;   x <- x - lr m
//
// In iteration 0, y is delta. The Nesterov form uses y + beta m instead of m. b is 1 + beta, in the
// Nesterov form 1 + beta + beta^2. beta = 0 is GUT; with mu = 0 as well it is dsgd in the order
// combine_then_adapt. mean(y) = mean(g) for beta = 0 and a constant lr. With beta > 0 the algorithm
// is stable only for mu < 1 - beta.
//
// * State: b x_before - (b - 1) p_before, delta_before, and m if beta is not 0. Scratch for x and
//   y.
// * Sends: one row per neighbour and iteration, before forward.
// * Requires: plain SGD; the learning rate must never be 0. QG-GUTm: a graph that does not
//   change.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

base::Parameter mu_parameter(const char* standard) {
    return base::Parameter::number("mu", standard, "weight of the tracked difference")
        .at_least(0)
        .at_most(1);
}

struct GutSpec {
    double mu;

    static const base::Section<GutSpec>& section();
};

const base::Section<GutSpec>& GutSpec::section() {
    static const base::Section<GutSpec> keys{
        {mu_parameter("0.9"), &GutSpec::mu},
    };
    return keys;
}

struct QgGutmSpec {
    double beta, mu;
    bool nesterov;

    static const base::Section<QgGutmSpec>& section();
};

const base::Section<QgGutmSpec>& QgGutmSpec::section() {
    using P = base::Parameter;
    static const base::Section<QgGutmSpec> keys{
        {P::number("beta", "0.9", "momentum").at_least(0).at_most(1), &QgGutmSpec::beta},
        {mu_parameter("0.06"), &QgGutmSpec::mu},
        {P::flag("nesterov", "false", "applies y + beta m"), &QgGutmSpec::nesterov},
    };
    return keys;
}

class Gut final : public MixingAlgorithm {
public:
    Gut(const graphs::Schedule* schedule, double mu, double beta, bool nesterov)
        : MixingAlgorithm(schedule),
          mu_(mu),
          beta_(beta),
          b_(nesterov ? 1 + beta + beta * beta : 1 + beta),
          nesterov_(nesterov) {}

    void declare(arena::StateTable& state) override {
        before_ = state.rows("algorithm/previous_parameters");
        delta_before_ = state.rows("algorithm/previous_update");
        if (beta_ != 0) m_ = state.rows("algorithm/momentum");
        own_ = state.scratch();
        y_ = state.scratch();
    }

    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        step.copy(step.x, own_.rows(), step.layout.all());
        step.mix(step.x, step.x);
        step.probe.averaged(step.x);
    }
    void ready(Step& step, arena::Columns columns) override {
        const arena::Rows p = step.x, x = own_.rows(), delta = step.g, y = y_.rows();
        const double by = 1 / step.numbers.lr;
        step.decay(columns);
        step.combine(delta, {{1, step.g}, {-by, p}, {by, x}}, columns);
        if (step.t == 0) {
            step.copy(delta, y, columns);
        } else {
            step.combine(y,
                         {{1, delta}, {-mu_ * by, p}, {mu_ * by, before_}, {-mu_, delta_before_}},
                         columns);
        }
        step.copy(delta, delta_before_, columns);
        if (beta_ == 0) {
            step.copy(x, before_, columns);
        } else {
            step.combine(before_, {{b_, x}, {1 - b_, p}}, columns);
        }
        step.apply_direction(step.x, x, with_momentum(step, y, columns), columns);
    }

private:
    /// Returns the direction of the step: y, m, or y + beta m (which is stored in y).
    arena::Rows with_momentum(Step& step, arena::Rows y, arena::Columns columns) {
        if (beta_ == 0) return y;
        step.combine(m_, {{beta_, m_}, {1, y}}, columns);
        if (!nesterov_) return m_;
        step.combine(y, {{1, y}, {beta_, m_}}, columns);
        return y;
    }

    double mu_, beta_, b_;
    bool nesterov_;
    arena::Rows before_, delta_before_, m_;
    arena::Buffer own_, y_;  // own_ holds x before averaging.
};

std::unique_ptr<Algorithm> make_gut(const GutSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Gut>(context.schedule, spec.mu, 0.0, false);
}

std::unique_ptr<Algorithm> make_qg_gutm(const QgGutmSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Gut>(context.schedule, spec.mu, spec.beta, spec.nesterov);
}

void check_stable(const QgGutmSpec& spec, const std::string& pointer) {
    if (spec.mu < 1 - spec.beta || spec.mu == 0) return;
    throw base::UserError(
        pointer + "/mu: must be below 1 - beta = " + base::short_text(base::Json(1 - spec.beta)) +
        " (otherwise the mean of the replicas diverges): choose a smaller one, for "
        "example the authors' 0.06 with beta 0.9");
}

}  // namespace

AlgorithmEntry gut_entry() {
    return {"gut",
            "global update tracking, one row per neighbour",
            make_gut,
            {.optimizer = OptimizerNeed::plain_sgd, .divides_by_lr = true, .any_rate = false}};
}

AlgorithmEntry qg_gutm_entry() {
    return {"qg_gutm",
            "global update tracking with quasi-global momentum",
            make_qg_gutm,
            {.sequences = false,
             .optimizer = OptimizerNeed::plain_sgd,
             .divides_by_lr = true,
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false},
            {.check = check_stable}};
}

}  // namespace dbench::algorithms
