// DiLoCo (Douillard et al. 2023, arXiv 2311.08105, algorithm 1): H local steps from theta, then
// Nesterov momentum on the mean change (as torch.optim.SGD has it):
//
//     D = theta - mean_j x_j;   v <- mu v + D;   theta <- theta - eta (D + mu v)
//
// On a graph that is not complete, each replica has its own theta_i and v_i and W stands in the
// mean's place, D_i = theta_i - sum_j w_ij x_j (our reading; with mu = 0, eta = 1 local_sgd). One
// row per neighbour and exchange; keeps theta and v.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

class DiLoCo final : public OuterSteps {
public:
    DiLoCo(const graphs::Schedule* schedule, const base::Json& spec)
        : OuterSteps(schedule, spec.at("period")),
          eta_(spec.at("outer_lr")),
          mu_(spec.at("outer_momentum")) {}

    void declare(arena::StateTable& state) override {
        OuterSteps::declare(state);
        v_ = state.rows("algorithm/outer_momentum");
    }

protected:
    void outer(Step& step) override {
        const arena::Rows x = step.x, theta = anchor_;
        const arena::Columns all = step.layout.all();
        step.probe.about_to_average(x);
        step.mix(x, x);
        step.probe.averaged(x);
        step.combine(x, {{1, theta}, {-1, x}}, all);  // D
        step.combine(v_, {{mu_, v_}, {1, x}}, all);
        step.combine(theta, {{1, theta}, {-eta_, x}, {-eta_ * mu_, v_}}, all);
    }

private:
    double eta_, mu_;
    arena::Rows v_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<DiLoCo>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry diloco_entry() {
    using P = base::Parameter;
    return {{"diloco",
             "local steps, then an outer Nesterov step on the mean change",
             {period_parameter("50"), P::number("outer_lr", "0.7", "of the outer step").at_least(0),
              P::number("outer_momentum", "0.9", "of the outer step").at_least(0).at_most(1)}},
            make,
            {},
            {.mean = MeanRule::none, .bias = Bias::none, .plain_alone = false},
            after_local_steps};
}

}  // namespace dbench::algorithms
