#pragma once
// Helpers and factories that the optimizers share.

#include <memory>
#include <vector>

#include "algorithms/optimizers/optimizer.hpp"

namespace dbench::algorithms {

std::unique_ptr<Optimizer> make_sgd(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_adam(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_adamw(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_accum_adam(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_accum_adamw(const base::Json& spec, const arena::Layout& layout);

/// Returns the spec's weight_decay per tensor [T]; with "decay": "weights" it is 0 for biases and
/// norms.
std::vector<double> decay_per_tensor(const base::Json& spec, const arena::Layout& layout);

/// Returns the rows of `state` that belong to the replicas of `rows`.
arena::Rows rows_of_replicas(arena::Rows state, arena::Rows rows);

}  // namespace dbench::algorithms
