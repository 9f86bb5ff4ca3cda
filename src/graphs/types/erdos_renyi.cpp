// Erdos-Renyi graph G(n, p) (Gilbert 1959): each pair of replicas is an edge with probability p,
// independently, redrawn until connected. Default p = min(1, 2 ln(n) / n), twice the threshold of
// connectivity.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int kTries = 1000;

// Each pair i < j with probability p. The gaps between chosen pairs are geometric, so that the work
// is O(edges) (Batagelj and Brandes 2005), and every rank draws the same ones.
std::vector<Edge> draw(int n, double p, base::Random& random) {
    std::vector<Edge> edges;
    if (p >= 1) {
        for (int i = 0; i < n; ++i) {
            for (int j = i + 1; j < n; ++j) edges.emplace_back(i, j);
        }
        return edges;
    }
    const double scale = 1.0 / std::log1p(-p);
    int64_t row = 1;
    int64_t column = -1;  // pairs (row, column), column < row, in reading order
    while (row < n) {
        const double skip = std::floor(std::log1p(-random.uniform()) * scale);
        if (skip >= static_cast<double>(n) * n) break;
        column += 1 + static_cast<int64_t>(skip);
        while (row < n && column >= row) column -= row++;
        if (row < n) edges.emplace_back(static_cast<int>(column), static_cast<int>(row));
    }
    return edges;
}

std::unique_ptr<Schedule> make(const base::Json& spec, const GraphContext& context,
                               const std::string& pointer) {
    const int n = context.n;
    const double threshold = std::log(n) / n;
    const double p =
        spec.at("p").is_null() ? std::min(1.0, 2 * threshold) : spec.at("p").get<double>();
    for (uint64_t attempt = 0; attempt < kTries && n > 1; ++attempt) {
        base::Random random(context.seed, base::Purpose::graph, {3, attempt});
        const auto edges = draw(n, p, random);
        if (connects(n, edges)) return weighted_graph(from_edges(n, edges, false), spec, pointer);
    }
    if (n == 1) return weighted_graph(complete_topology(1), spec, pointer);
    throw base::UserError(pointer + "/p: " + base::short_text(spec.at("p")) +
                          " gave no connected graph of " + std::to_string(n) + " replicas in " +
                          std::to_string(kTries) +
                          " tries (connected ones are rare below ln(n)/n = " +
                          base::short_text(std::round(threshold * 1e4) / 1e4) + "): use at least " +
                          base::short_text(std::ceil(threshold * 2e4) / 1e4));
}

}  // namespace

GraphEntry erdos_renyi_entry() {
    return graph_entry(
        "erdos_renyi", "each pair with probability p, redrawn until connected",
        with_weights({base::Parameter::number("p", "null",
                                              "probability of an edge; null: min(1, 2 ln(n) / n)")
                          .greater_than(0)
                          .at_most(1)
                          .or_null()}),
        make);
}

}  // namespace dbench::graphs
