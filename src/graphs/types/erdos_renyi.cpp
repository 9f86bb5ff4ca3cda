// The graph `erdos_renyi`: G(n, p) (Gilbert 1959). Each pair of replicas is an edge with
// probability p, independently; the graph is redrawn until connected. The default p = min(1, 2
// ln(n) / n) is twice the threshold of connectivity.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/streams.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int kErdosRenyiTries = 1000;

// Draws each pair i < j with probability p. The gaps between chosen pairs are geometric, so the
// work is O(edges) (Batagelj and Brandes 2005). Every rank draws the same edges.
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

struct ErdosRenyiSpec : WeightSpec {
    std::optional<double> p;  ///< Probability of an edge; empty: min(1, 2 ln(n) / n).

    static const base::Section<ErdosRenyiSpec>& section();
};

const base::Section<ErdosRenyiSpec>& ErdosRenyiSpec::section() {
    static const base::Section<ErdosRenyiSpec> keys{
        {{base::Parameter::number("p", "null", "probability of an edge; null: min(1, 2 ln(n) / n)")
              .greater_than(0)
              .at_most(1)
              .or_null(),
          &ErdosRenyiSpec::p}},
        WeightSpec::section()};
    return keys;
}

std::unique_ptr<Schedule> make_erdos_renyi(const ErdosRenyiSpec& spec, const GraphContext& context,
                                           const std::string& pointer) {
    const int n = context.n;
    const double threshold = std::log(n) / n;
    const double p = spec.p.value_or(std::min(1.0, 2 * threshold));
    for (uint64_t attempt = 0; attempt < kErdosRenyiTries && n > 1; ++attempt) {
        auto random = base::random_stream(context.seed, base::GraphStream::erdos_renyi, attempt);
        const auto edges = draw(n, p, random);
        if (is_connected(n, edges))
            return weighted_graph(from_edges(n, edges, false), spec, pointer);
    }
    if (n == 1) return weighted_graph(complete_topology(1), spec, pointer);
    throw base::UserError(pointer + "/p: " + (spec.p ? base::short_text(*spec.p) : "null") +
                          " gave no connected graph of " + std::to_string(n) + " replicas in " +
                          std::to_string(kErdosRenyiTries) +
                          " tries (connected ones are rare below ln(n)/n = " +
                          base::short_text(std::round(threshold * 1e4) / 1e4) + "): use at least " +
                          base::short_text(std::ceil(threshold * 2e4) / 1e4));
}

}  // namespace

GraphEntry erdos_renyi_entry() {
    return {"erdos_renyi", "each pair with probability p, redrawn until connected",
            make_erdos_renyi};
}

}  // namespace dbench::graphs
