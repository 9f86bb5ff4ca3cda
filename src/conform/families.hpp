#pragma once
// What the references share.

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "base/json.hpp"
#include "conform/local_optimizer.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// What an algorithm is made from. The optimizer turns gradients into directions; where the
/// algorithm has a direction of its own, the table has seen to it that it is plain SGD.
struct Parts {
    const base::Json& algorithm;
    const base::Json& optimizer_spec;
    std::unique_ptr<LocalOptimizer> optimizer;
    ReferenceContext context;
};

/// Of a tensor of this shape.
inline int64_t elements(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Exchange in iterations t with (t + 1) mod period = 0.
inline bool is_due(int64_t t, int64_t period) { return (t + 1) % period == 0; }

using Factory = std::unique_ptr<Reference> (*)(Parts parts);

}  // namespace dbench::conform
