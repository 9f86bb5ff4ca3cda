// The graph `watts_strogatz`: a small world (Watts and Strogatz 1998). In a ring lattice of k
// neighbours, each edge (i, i + o) gets a random other end with probability beta, without loops or
// double edges; the graph is redrawn until connected. Weights `auto` are Metropolis weights if
// degrees differ.

#include <set>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int kWattsStrogatzTries = 1000;

// Returns a ring lattice in which each edge (i, i+o) has, with probability beta, a random other
// end, without loops and double edges (Watts and Strogatz 1998).
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

struct SmallWorldSpec : WeightSpec {
    int64_t k;    ///< Neighbours in the ring lattice; even.
    double beta;  ///< Probability of rewiring an edge.

    static const base::Section<SmallWorldSpec>& section();
};

const base::Section<SmallWorldSpec>& SmallWorldSpec::section() {
    static const base::Section<SmallWorldSpec> keys{
        {{base::Parameter::integer("k", "4", "neighbours, an even number").at_least(2),
          &SmallWorldSpec::k},
         {base::Parameter::number("beta", "0.1", "probability of rewiring an edge")
              .at_least(0)
              .at_most(1),
          &SmallWorldSpec::beta}},
        WeightSpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_watts_strogatz(const SmallWorldSpec& spec,
                                              const GraphContext& context,
                                              const std::string& pointer) {
    const int n = context.n;
    const int64_t k = spec.k;
    require_even(k, pointer);
    if (k >= n - 1) return weighted_graph(complete_topology(n), spec, pointer);
    for (uint64_t attempt = 0; attempt < kWattsStrogatzTries; ++attempt) {
        auto random = base::random_stream(context.seed, base::GraphStream::watts_strogatz, attempt);
        const auto edges = rewired(n, k, spec.beta, random);
        if (is_connected(n, edges))
            return weighted_graph(from_edges(n, edges, false), spec, pointer);
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
    return {"watts_strogatz", "ring lattice with rewired edges, redrawn until connected",
            make_watts_strogatz};
}

}  // namespace dbench::graphs
