#pragma once  // Private to train/models/exported.
// The plan by which the interpreter computes an exported graph: its operators in their order, with
// resolved arguments, and the groups of them that the program computes itself.

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "train/models/exported/arguments.hpp"
#include "train/models/exported/interpreter.hpp"
#include "train/models/exported/norm_relu_nodes.hpp"
#include "train/models/exported/symbols.hpp"
#include "train/models/layers/products.hpp"

namespace dbench::train {

/// One operator of the graph, or several that one pass may compute.
struct GraphStep {
    enum class Special : uint8_t { none, batch_norm, attention, convolution, linear, norm_relu };

    size_t node;
    std::optional<c10::OperatorHandle> op;  ///< Empty: `symbol` computes it.
    SymbolOperator symbol;
    std::vector<Operand> operands;
    Special special = Special::none;
    std::vector<int> unused = {};  ///< Values that no later step reads.
    /// The steps that this one replaces; they run one by one if norm_relu cannot compute them.
    std::vector<GraphStep> parts = {};
    NormReluNodes norm_relu = {};
    Convolution2d shape = {};  ///< Stride, padding and so on, if it is a convolution.
    int weight = -1;           ///< The input that is the layer's weight, if nothing else reads it.
};

/// The steps of a graph, and the facts about it.
struct GraphPlan {
    const ExportedGraph& graph;
    GraphFacts facts;
    std::vector<GraphStep> steps;  ///< Incomplete if operators are unknown.

    /// Resolves the operators of `g`, which must outlive the plan, and leaves out those that change
    /// only the buffers `unread`. Throws UserError if arguments do not suit an operator.
    GraphPlan(const ExportedGraph& g, const std::set<std::string>& unread);

    /// Returns words that name a node of the graph in errors.
    std::string where(size_t node) const;
};

/// How a graph uses a buffer.
struct BufferUse {
    bool read = false;   ///< A result may depend on it.
    bool counts = true;  ///< The graph only adds constants to it.
};
/// Returns how a graph uses each of its buffers, by name.
std::map<std::string, BufferUse> buffer_uses(const ExportedGraph& graph);

}  // namespace dbench::train
