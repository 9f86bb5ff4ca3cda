#pragma once  // Private to train/models/exported.
// Finds the nodes of a graph that layers/norm_relu.hpp computes in one pass over memory, as the
// built-in models do: BatchNorm in training, an optional sum, and ReLU.

#include <functional>
#include <optional>
#include <vector>

#include "train/models/exported/graph.hpp"

namespace dbench::train {

/// One such group. Nodes and values have the numbers of the graph.
struct NormReluNodes {
    size_t norm, relu;
    std::optional<size_t> sum;
    int x, weight, bias, mean, variance;  ///< The values that BatchNorm reads.
    int added = -1;                       ///< The other value of the sum.
    double momentum, eps;
};

/// Returns the groups whose nodes can be computed together when it is the turn of `relu`. `nodes`
/// are the nodes that are computed, in their order. `changes` says whether a node changes one of
/// its arguments in place.
std::vector<NormReluNodes> find_norm_relus(const ExportedGraph& graph,
                                           const std::vector<size_t>& nodes,
                                           const std::function<bool(size_t)>& changes);

}  // namespace dbench::train
