#pragma once
// Helpers that the files with reference implementations share.

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "base/json.hpp"
#include "conform/local_optimizer.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// The inputs from which a reference is built. The optimizer turns gradients into directions. If
/// the algorithm has its own direction, the caller guarantees that the optimizer is plain SGD.
struct Parts {
    const base::Json& algorithm;
    const base::Json& optimizer_spec;
    std::unique_ptr<LocalOptimizer> optimizer;
    ReferenceContext context;
};

/// Returns the number of elements of a tensor of this shape.
inline int64_t elements(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// True in the iterations t with (t + 1) mod period = 0, in which the algorithm exchanges.
inline bool is_due(int64_t t, int64_t period) { return (t + 1) % period == 0; }

/// Builds one algorithm's reference.
using Factory = std::unique_ptr<Reference> (*)(Parts parts);

}  // namespace dbench::conform
