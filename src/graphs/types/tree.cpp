// Tree graphs.
//
//     tree                 i exchanges with its parent floor((i - 1) / arity)
//     double_binary_tree   two binary trees alternate. `in_order`: leaves of one are inner nodes of
//                          the other (Sanders, Speck and Traeff 2009); the second one is mirrored
//                          or shifted. `heap`: i exchanges with floor(i / 2), and the same mirrored
//                          (BinaryTreeTopology in topologies.py of epfml/relaysgd, commit e1e332b)
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

// Returns the tree in which i exchanges with floor(i / 2): root 0 with the child 1.
std::vector<Edge> heap_tree(int n) {
    std::vector<Edge> edges;
    for (int i = 1; i < n; ++i) edges.emplace_back(i / 2, i);
    return edges;
}

struct DoubleTreeSpec : WeightSpec {
    bool heap;  ///< Trees in the order of a heap, not in order.

    static const base::Section<DoubleTreeSpec>& section();
};

const base::Section<DoubleTreeSpec>& DoubleTreeSpec::section() {
    static const base::Section<DoubleTreeSpec> keys{
        {{base::Words<bool>("order", {{"in_order", false}, {"heap", true}}, false,
                            "how replicas are numbered in the first tree: inner nodes between "
                            "their children, or parents before children"),
          &DoubleTreeSpec::heap}},
        WeightSpec::section()};
    return keys;
}

// The second tree is the first one mirrored, or shifted by one (in order, n odd: mirrored, inner
// nodes would be the same).
std::unique_ptr<Schedule> make_double(const DoubleTreeSpec& spec, const GraphContext& context,
                                      const std::string& pointer) {
    const int n = context.n;
    const auto first = spec.heap ? heap_tree(n) : in_order_tree(n);
    const bool mirror = spec.heap || n % 2 == 0;
    std::vector<Edge> second;
    for (const auto& [a, b] : first) {
        second.emplace_back(mirror ? n - 1 - a : (a + 1) % n, mirror ? n - 1 - b : (b + 1) % n);
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
