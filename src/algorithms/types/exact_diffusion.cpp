// Exact diffusion (Yuan et al. 2017, arXiv 1702.05122, algorithm 1): adapt, correct, combine,
//
//     psi+ = x - lr g(x);   phi = psi+ + x - psi;   x <- (phi + W phi) / 2,   psi_0 = x_0
//
// which is exact under heterogeneous data. The correction c = x - psi is held by itself, as the sum
// of the changes (W phi - phi) / 2. One row per neighbour and iteration; keeps c, and psi+.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<Algorithm> make(const base::Json&, const AlgorithmContext& context) {
    return std::make_unique<Corrected>(context.schedule, 0.5);
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
