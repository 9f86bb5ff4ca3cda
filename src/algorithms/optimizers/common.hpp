#pragma once
// Helpers that the optimizers share.

#include <string>
#include <vector>

#include "algorithms/optimizers/optimizer.hpp"
#include "algorithms/optimizers/optimizer_spec.hpp"

namespace dbench::algorithms {

/// The keys of optimizers with a first and a second moment.
struct MomentsSpec : OptimizerSpec {
    std::vector<double> betas;  ///< Decay rates of the two moments, each less than 1.
    double eps;                 ///< Added to the root of the second moment.

    /// Returns these keys with the given default of `weight_decay`. They begin the section of every
    /// such optimizer.
    static base::Section<MomentsSpec> keys(const std::string& weight_decay);
};

/// Returns the weight decay per tensor [T]; with "decay": "weights" it is 0 for biases and norms.
std::vector<double> decay_per_tensor(const OptimizerSpec& spec, const arena::Layout& layout);

/// Returns the rows of `state` that belong to the replicas of `rows`.
arena::Rows rows_of_replicas(arena::Rows state, arena::Rows rows);

}  // namespace dbench::algorithms
