#include "train/models/exported/norm_relu_nodes.hpp"

#include <algorithm>
#include <string>

#include "train/models/exported/arguments.hpp"

namespace dbench::train {
namespace {

/// Returns the value that a node reads as this argument; -1 if that is not one value of the graph.
int value_of(const ExportedNode& node, const char* name) {
    const ExportedArgument* found = argument_of(node, name);
    const bool single = found != nullptr && !found->list && is_slot(found->items[0]);
    return single ? std::get<Slot>(found->items[0]).index : -1;
}

bool is_true(const ExportedNode& node, const char* name) {
    const ExportedArgument* found = argument_of(node, name);
    if (found == nullptr || found->list) return false;
    const auto* flag = std::get_if<bool>(&found->items[0]);
    return flag != nullptr && *flag;
}

/// Returns the only result of a node; -1 if it has several, or nothing reads it.
int result_of(const ExportedNode& node) {
    return node.results.size() == 1 && !node.results[0].list ? node.results[0].slots[0] : -1;
}

class Search {
public:
    Search(const ExportedGraph& graph, const std::vector<size_t>& nodes,
           const std::function<bool(size_t)>& changes)
        : graph_(graph),
          nodes_(nodes),
          changes_(changes),
          uses_(graph.values.size()),
          place_(graph.values.size(), -1) {
        for (const int output : graph.outputs) {
            if (output >= 0) ++uses_[output];
        }
        for (size_t k = 0; k < nodes.size(); ++k) {
            const ExportedNode& node = graph.nodes[nodes[k]];
            for (const ExportedArgument& argument : node.arguments) {
                for (const ExportedItem& item : argument.items) {
                    if (is_slot(item)) ++uses_[std::get<Slot>(item).index];
                }
            }
            if (result_of(node) >= 0) place_[result_of(node)] = static_cast<int>(k);
        }
    }

    /// Returns the group that ends in the node at this place of `nodes`.
    std::optional<NormReluNodes> at(size_t last) const {
        const ExportedNode& relu = node(last);
        if (!is(relu, "relu.default") && !is(relu, "relu_.default")) return std::nullopt;
        if (result_of(relu) < 0) return std::nullopt;
        const std::optional<size_t> before = only_source(relu, "self");
        if (!before) return std::nullopt;
        const ExportedNode& sum = node(*before);
        const bool in_place = is(sum, "add_.Tensor");
        if (!in_place && !is(sum, "add.Tensor")) return group(*before, std::nullopt, last, -1);
        if (argument_of(sum, "alpha") != nullptr && number_of(sum, "alpha") != 1) {
            return std::nullopt;
        }
        for (const auto& [own, other] : {std::pair("self", "other"), std::pair("other", "self")}) {
            const std::optional<size_t> norm = only_source(sum, own);
            const int added = value_of(sum, other);
            if (!norm || added < 0 || (in_place && own != std::string("self"))) continue;
            if (const auto found = group(*norm, *before, last, added)) return found;
        }
        return std::nullopt;
    }

private:
    const ExportedNode& node(size_t place) const { return graph_.nodes[nodes_[place]]; }

    /// True if the node is this operator, and computes with gradients and with autocast if the run
    /// does.
    static bool is(const ExportedNode& node, const char* name) {
        return node.gradients && node.autocast &&
               node.target == "torch.ops.aten." + std::string(name);
    }

    /// Returns the place of the node whose result this argument is, if nothing else reads it.
    std::optional<size_t> only_source(const ExportedNode& reader, const char* name) const {
        const int value = value_of(reader, name);
        if (value < 0 || uses_[value] != 1 || place_[value] < 0) return std::nullopt;
        return static_cast<size_t>(place_[value]);
    }

    std::optional<NormReluNodes> group(size_t first, std::optional<size_t> sum, size_t last,
                                       int added) const {
        const ExportedNode& norm = node(first);
        if (!is(norm, "batch_norm.default") || !is_true(norm, "training")) return std::nullopt;
        const auto momentum = number_of(norm, "momentum"), eps = number_of(norm, "eps");
        NormReluNodes found{nodes_[first],
                            nodes_[last],
                            sum ? std::optional(nodes_[*sum]) : std::nullopt,
                            value_of(norm, "input"),
                            value_of(norm, "weight"),
                            value_of(norm, "bias"),
                            value_of(norm, "running_mean"),
                            value_of(norm, "running_var"),
                            added,
                            momentum.value_or(0),
                            eps.value_or(0)};
        const int least = std::min({found.x, found.weight, found.bias, found.mean, found.variance});
        if (!momentum || !eps || least < 0) return std::nullopt;
        // BatchNorm is computed later than in the graph: nothing may read or change its tensors in
        // between.
        if (uses_[found.mean] != 1 || uses_[found.variance] != 1) return std::nullopt;
        for (size_t k = first + 1; k < last; ++k) {
            if (k != sum && changes_(nodes_[k])) return std::nullopt;
        }
        return found;
    }

    const ExportedGraph& graph_;
    const std::vector<size_t>& nodes_;
    const std::function<bool(size_t)>& changes_;
    std::vector<int> uses_;   // Nodes and outputs that read a value.
    std::vector<int> place_;  // The node in nodes_ that computes a value; -1: it is an input.
};

}  // namespace

std::vector<NormReluNodes> find_norm_relus(const ExportedGraph& graph,
                                           const std::vector<size_t>& nodes,
                                           const std::function<bool(size_t)>& changes) {
    const Search search(graph, nodes, changes);
    std::vector<NormReluNodes> all;
    for (size_t k = 0; k < nodes.size(); ++k) {
        if (const auto found = search.at(k)) all.push_back(*found);
    }
    return all;
}

}  // namespace dbench::train
