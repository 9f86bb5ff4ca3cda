// Exact diffusion (Yuan et al. 2017, arXiv 1702.05122, algorithm 1): adapt, correct, combine,
//
//     psi+ = x - lr g(x);   phi = psi+ + x - psi;   x <- (phi + W phi) / 2,   psi_0 = x_0
//
// which is exact under heterogeneous data. One row per neighbour and iteration; keeps psi, and phi.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"

namespace dbench::algorithms {
namespace {

class ExactDiffusion final : public AdaptThenCombine {
public:
    using AdaptThenCombine::AdaptThenCombine;

    void declare(arena::StateTable& state) override {
        psi_ = state.rows("algorithm/psi");
        message_ = state.scratch();
    }
    bool keeps_means() const override { return true; }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        const arena::Rows phi = message_.rows();
        if (step.t == 0) step.copy(step.x, psi_, columns);
        step.decay(columns);
        step.combine(phi, {{1, step.x}, {-1, psi_}}, columns);
        step.descend(psi_, step.x, step.g, columns);
        step.combine(phi, {{1, phi}, {1, psi_}}, columns);
        step.copy(phi, step.x, columns);
    }
    arena::Rows message(Step&) override { return message_.rows(); }
    void combined(Step& step) override {
        step.combine(step.x, {{0.5, step.x}, {0.5, message_.rows()}}, step.layout.all());
    }

private:
    arena::Rows psi_;
    arena::Buffer message_;
};

std::unique_ptr<Algorithm> make(const base::Json&, const AlgorithmContext& context) {
    return std::make_unique<ExactDiffusion>(context.schedule);
}

}  // namespace

AlgorithmEntry exact_diffusion_entry() {
    return {
        {"exact_diffusion", "no bias under heterogeneous data (symmetric W, mixes by halves)", {}},
        make,
        {.graph = GraphNeed::symmetric, .optimizer = OptimizerNeed::plain_sgd},
        {.bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
