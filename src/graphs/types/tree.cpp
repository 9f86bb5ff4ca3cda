// Tree graphs.
//
//     tree                 i exchanges with its parent floor((i - 1) / arity)
//     double_binary_tree   two binary trees alternate; leaves of one are inner nodes of the other
//                          (Sanders, Speck and Traeff 2009): in order, and mirrored or shifted
//
// These graphs are not regular: weights `auto` are Metropolis weights.

#include <nlohmann/json.hpp>

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

struct TreeSpec : WeightSpec {
    int64_t arity;  ///< Children of a node.

    static const base::Section<TreeSpec>& section();
};

const base::Section<TreeSpec>& TreeSpec::section() {
    static const base::Section<TreeSpec> keys{
        {{base::Parameter::integer("arity", "2", "children of a node").at_least(1),
          &TreeSpec::arity}},
        WeightSpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_tree(const TreeSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    const int64_t arity = spec.arity;
    std::vector<Edge> edges;
    for (int i = 1; i < context.n; ++i) {
        edges.emplace_back(static_cast<int>((i - 1) / arity), i);
    }
    return weighted_graph(from_edges(context.n, edges, false), spec, pointer);
}

// Returns the in-order binary tree: root 0 with one child. A node's lowest set bit is its height;
// odd nodes are leaves (Sanders, Speck and Traeff 2009).
std::vector<Edge> in_order_tree(int n) {
    std::vector<Edge> edges;
    for (int i = 1; i < n; ++i) {
        const int bit = i & -i;
        const int up = (i ^ bit) | (bit << 1);
        edges.emplace_back(up < n ? up : i ^ bit, i);
    }
    return edges;
}

// The second tree is the first one mirrored (n even) or shifted by one (n odd), so that the leaves
// of one are inner nodes of the other.
std::unique_ptr<Schedule> make_double(const WeightSpec& spec, const GraphContext& context,
                                      const std::string& pointer) {
    const int n = context.n;
    const auto first = in_order_tree(n);
    std::vector<Edge> second;
    for (const auto& [a, b] : first) {
        second.emplace_back(n % 2 == 0 ? n - 1 - a : (a + 1) % n,
                            n % 2 == 0 ? n - 1 - b : (b + 1) % n);
    }
    return cyclic_schedule({weighted(from_edges(n, first, false), spec, pointer),
                            weighted(from_edges(n, second, false), spec, pointer)});
}

}  // namespace

GraphEntry tree_entry() {
    return {"tree", "each replica i exchanges with its parent (i-1)/arity", make_tree};
}

GraphEntry double_binary_tree_entry() {
    return {"double_binary_tree",
            "two binary trees in turn, the leaves of one inner nodes of the other", make_double};
}

}  // namespace dbench::graphs
