#pragma once
// What the optimizers share.

#include <memory>
#include <vector>

#include "algorithms/optimizers/optimizer.hpp"

namespace dbench::algorithms {

std::unique_ptr<Optimizer> make_sgd(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_adam(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_adamw(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_accum_adam(const base::Json& spec, const arena::Layout& layout);
std::unique_ptr<Optimizer> make_accum_adamw(const base::Json& spec, const arena::Layout& layout);

/// The spec's weight_decay per tensor [T]; with "decay": "weights" 0 for biases and norms.
std::vector<double> decay_per_tensor(const base::Json& spec, const arena::Layout& layout);

/// The rows of `state` that belong to the replicas of `rows`.
arena::Rows matching(arena::Rows state, arena::Rows rows);

}  // namespace dbench::algorithms
