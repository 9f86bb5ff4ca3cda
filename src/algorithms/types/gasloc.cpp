// GASLoC (arXiv 2606.11081): H local steps from theta_i, then an accelerated gossip step over the
// graph's Laplacian, W = I - alpha L:
//
//     u_i = theta_i + eta (x_i - theta_i);   theta_i <- (W u)_i + gamma (u_i - u_before_i)
//
// At the first exchange u_before is u. With H = 1, eta = 1, gamma = 0 and SGD it is dsgd
// (adapt_then_combine).
//
// * State: theta and u_before.
// * Sends: one row per neighbour and exchange.
// * Requires: nothing beyond a doubly stochastic W.

#include "algorithms/entries.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

struct GasLoCSpec : PeriodSpec {
    double eta, gamma;

    static const base::Section<GasLoCSpec>& section();
};

const base::Section<GasLoCSpec>& GasLoCSpec::section() {
    using P = base::Parameter;
    static const base::Section<GasLoCSpec> keys{
        {period_parameter("8"), &GasLoCSpec::period},
        {P::number("eta", "1", "step along the local change"), &GasLoCSpec::eta},
        {P::number("gamma", "0", "weight of the acceleration"), &GasLoCSpec::gamma},
    };
    return keys;
}

class GasLoC final : public OuterSteps {
public:
    GasLoC(const graphs::Schedule* schedule, const GasLoCSpec& spec)
        : OuterSteps(schedule, spec.period), eta_(spec.eta), gamma_(spec.gamma) {}

    void declare(arena::StateTable& state) override {
        OuterSteps::declare(state);
        u_before_ = state.rows("algorithm/previous_message");
    }

protected:
    void outer(Step& step) override {
        const arena::Rows u = step.x, theta = anchor_;
        const arena::Columns all = step.layout.all();
        step.combine(u, {{1 - eta_, theta}, {eta_, u}}, all);
        step.probe.about_to_average(u);
        step.mix(u, theta);
        step.probe.averaged(theta);
        if (!first(step)) {
            step.combine(theta, {{1, theta}, {gamma_, u}, {-gamma_, u_before_}}, all);
        }
        step.copy(u, u_before_, all);
    }

private:
    double eta_, gamma_;
    arena::Rows u_before_;
};

std::unique_ptr<Algorithm> make_gasloc(const GasLoCSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<GasLoC>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry gasloc_entry() {
    return {"gasloc",
            "local steps, then an accelerated gossip step",
            make_gasloc,
            {},
            {.schedule = after_local_steps}};
}

}  // namespace dbench::algorithms
