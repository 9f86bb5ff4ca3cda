// Small-world graph (Watts and Strogatz 1998): a ring lattice of k neighbours, each edge (i, i + o)
// led to a random other end with probability beta; no loops or double edges; redrawn until
// connected. Where degrees differ, `auto` gives Metropolis weights.

#include <nlohmann/json.hpp>
#include <set>

#include "base/random.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int kTries = 1000;

// Ring lattice whose edges (i, i+o) are each, with probability beta, led to a random other end
// instead, loops and double edges excepted (Watts and Strogatz 1998).
std::vector<Edge> rewired(int n, int64_t k, double beta, base::Random& random) {
    std::vector<std::set<int>> joined(n);
    for (int i = 0; i < n; ++i) {
        for (int64_t o = 1; o <= k / 2; ++o) {
            const int j = static_cast<int>((i + o) % n);
            joined[i].insert(j);
            joined[j].insert(i);
        }
    }
    for (int64_t o = 1; o <= k / 2; ++o) {
        for (int i = 0; i < n; ++i) {
            if (random.uniform() >= beta || static_cast<int>(joined[i].size()) >= n - 1) continue;
            const int old = static_cast<int>((i + o) % n);
            int fresh = i;
            while (fresh == i || joined[i].count(fresh) > 0) {
                fresh = static_cast<int>(random.below(static_cast<uint64_t>(n)));
            }
            joined[i].erase(old);
            joined[old].erase(i);
            joined[i].insert(fresh);
            joined[fresh].insert(i);
        }
    }
    std::vector<Edge> edges;
    for (int i = 0; i < n; ++i) {
        for (const int j : joined[i]) {
            if (i < j) edges.emplace_back(i, j);
        }
    }
    return edges;
}

std::unique_ptr<Schedule> make(const base::Json& spec, const GraphContext& context,
                               const std::string& pointer) {
    const int n = context.n;
    const int64_t k = even_neighbours(spec, pointer);
    if (k >= n - 1) return weighted_graph(complete_topology(n), spec, pointer);
    for (uint64_t attempt = 0; attempt < kTries; ++attempt) {
        base::Random random(context.seed, base::Purpose::graph, {8, attempt});
        const auto edges = rewired(n, k, spec.at("beta").get<double>(), random);
        if (connects(n, edges)) return weighted_graph(from_edges(n, edges, false), spec, pointer);
    }
    throw base::UserError(pointer + "/k: " + std::to_string(k) +
                          " neighbours gave no connected graph "
                          "of " +
                          std::to_string(n) +
                          " replicas in 1000 tries (rewiring cuts sparse "
                          "rings apart): use " +
                          std::to_string(k + 2) + " or a smaller beta");
}

}  // namespace

GraphEntry watts_strogatz_entry() {
    return graph_entry(
        "watts_strogatz", "ring lattice with rewired edges, redrawn until connected",
        with_weights({base::Parameter::integer("k", "4", "neighbours, an even number").at_least(2),
                      base::Parameter::number("beta", "0.1", "probability of rewiring an edge")
                          .at_least(0)
                          .at_most(1)}),
        make);
}

}  // namespace dbench::graphs
