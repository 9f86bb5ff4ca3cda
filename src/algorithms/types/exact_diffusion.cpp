// Exact diffusion (Yuan et al. 2017, arXiv 1702.05122, algorithm 1): adapt, correct, combine.
//
//     psi+ = x - lr g(x);   phi = psi+ + x - psi;   x <- (phi + W phi) / 2,   psi_0 = x_0
//
// It is exact under heterogeneous data. The code keeps the correction c = x - psi, as the sum of
// the changes (W phi - phi) / 2 (CorrectedAdaptThenCombine with share 1/2).
//
// * State: c; scratch for psi+.
// * Sends: one row per neighbour and iteration, bucket by bucket during backward.
// * Requires: symmetric W, plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<Algorithm> make_exact_diffusion(const base::NoKeys&,
                                                const AlgorithmContext& context) {
    return std::make_unique<CorrectedAdaptThenCombine>(context.schedule, 0.5);
}

}  // namespace

AlgorithmEntry exact_diffusion_entry() {
    return {"exact_diffusion",
            "no bias under heterogeneous data (symmetric W, uses (I + W) / 2)",
            make_exact_diffusion,
            {.graph = GraphNeed::symmetric,
             .optimizer = OptimizerNeed::plain_sgd,
             .replica_change = ReplicaChange::multiples,  // mean(correction) = 0
             .bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
