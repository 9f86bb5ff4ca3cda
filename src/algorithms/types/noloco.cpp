// NoLoCo (Kolehmainen et al. 2025, arXiv 2506.10911): H local steps from slow weights phi_i, then
// momentum on the change, averaged in small groups; no all-reduce.
//
//     D_i = x_i - phi_i
//     d_i <- alpha d_i + beta (W D)_i - gamma (phi_i - (W phi)_i);   phi_i <- phi_i + d_i
//
// The authors' code (github.com/jkolehm/noloco) uses alpha 0.5, beta = gamma = 0.7, H 50. The graph
// random_matching gives the paper's mean over groups of two.
//
// * State: phi and d. Scratch for W phi.
// * Sends: two rows (D and phi) per neighbour and exchange.
// * Requires: nothing beyond a doubly stochastic W.

#include <optional>

#include "algorithms/entries.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

struct NoLoCoSpec : PeriodSpec {
    double alpha, beta;
    std::optional<double> gamma;  ///< Empty: beta.

    static const base::Section<NoLoCoSpec>& section();
};

const base::Section<NoLoCoSpec>& NoLoCoSpec::section() {
    using P = base::Parameter;
    static const base::Section<NoLoCoSpec> keys{
        {period_parameter("50"), &NoLoCoSpec::period},
        {P::number("alpha", "0.5", "outer momentum").at_least(0).at_most(1), &NoLoCoSpec::alpha},
        {P::number("beta", "0.7", "weight of the averaged change").at_least(0), &NoLoCoSpec::beta},
        {P::number("gamma", "null", "pull of slow weights towards their average; null: beta")
             .at_least(0)
             .or_null(),
         &NoLoCoSpec::gamma},
    };
    return keys;
}

class NoLoCo final : public OuterSteps {
public:
    NoLoCo(const graphs::Schedule* schedule, const NoLoCoSpec& spec)
        : OuterSteps(schedule, spec.period),
          alpha_(spec.alpha),
          beta_(spec.beta),
          gamma_(spec.gamma.value_or(spec.beta)) {}

    void declare(arena::StateTable& state) override {
        OuterSteps::declare(state);
        d_ = state.rows("algorithm/outer_momentum");
        mixed_ = state.scratch();
    }
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 2); }

protected:
    void outer(Step& step) override {
        const arena::Rows x = step.x, phi = anchor_, mixed = mixed_.rows();
        const arena::Columns all = step.layout.all();
        step.probe.about_to_average(x);
        step.combine(x, {{1, x}, {-1, phi}}, all);  // D
        step.mix(x, x);
        step.mix(phi, mixed);
        step.combine(d_, {{alpha_, d_}, {beta_, x}, {-gamma_, phi}, {gamma_, mixed}}, all);
        step.combine(x, {{1, x}, {1, mixed}}, all);  // W times the parameters
        step.probe.averaged(x);
        step.combine(phi, {{1, phi}, {1, d_}}, all);
    }

private:
    double alpha_, beta_, gamma_;
    arena::Rows d_;
    arena::Buffer mixed_;
};

std::unique_ptr<Algorithm> make_noloco(const NoLoCoSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<NoLoCo>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry noloco_entry() {
    return {"noloco",
            "local steps, then an outer momentum step with neighbours (no all-reduce)",
            make_noloco,
            {.mean = MeanRule::none, .bias = Bias::none, .plain_alone = false},
            {.schedule = after_local_steps}};
}

}  // namespace dbench::algorithms
