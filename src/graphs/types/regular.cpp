#include "graphs/types/regular.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"

namespace dbench::graphs {
namespace {

uint64_t key(int64_t a, int64_t b) { return static_cast<uint64_t>(a << 32 | b); }

// Makes one attempt. Returns empty if the remaining stubs cannot be paired.
std::optional<std::vector<Edge>> pair_stubs(int n, int degree, base::Random& random) {
    std::vector<int> stubs;
    for (int i = 0; i < n; ++i) stubs.insert(stubs.end(), degree, i);
    std::vector<Edge> edges;
    std::unordered_set<uint64_t> joined;
    joined.reserve(stubs.size());
    while (!stubs.empty()) {
        for (size_t k = stubs.size() - 1; k > 0; --k) {
            std::swap(stubs[k], stubs[random.below(k + 1)]);
        }
        std::vector<int> left;
        for (size_t k = 0; k < stubs.size(); k += 2) {
            const int a = std::min(stubs[k], stubs[k + 1]);
            const int b = std::max(stubs[k], stubs[k + 1]);
            if (a != b && joined.insert(key(a, b)).second) {
                edges.emplace_back(a, b);
            } else {
                left.insert(left.end(), {a, b});
            }
        }
        std::vector<int> distinct = left;
        std::sort(distinct.begin(), distinct.end());
        distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
        bool possible = left.empty();
        for (size_t x = 0; x < distinct.size() && !possible; ++x) {
            for (size_t y = x + 1; y < distinct.size() && !possible; ++y) {
                possible = joined.count(key(distinct[x], distinct[y])) == 0;
            }
        }
        if (!possible) return std::nullopt;
        stubs = std::move(left);
    }
    return edges;
}

}  // namespace

std::vector<Edge> random_regular(int n, int degree, base::Random& random) {
    DBENCH_EXPECT(degree >= 0 && degree < n && static_cast<int64_t>(n) * degree % 2 == 0);
    const bool sparse = degree <= (n - 1) / 2;
    // A dense graph is the complement of a sparse one, for which pairing rarely fails.
    const int drawn = sparse ? degree : n - 1 - degree;
    std::optional<std::vector<Edge>> edges;
    while (!edges) edges = pair_stubs(n, drawn, random);
    if (sparse) return *edges;
    std::unordered_set<uint64_t> absent;
    for (const auto& [a, b] : *edges) absent.insert(key(a, b));
    std::vector<Edge> present;
    for (int a = 0; a < n; ++a) {
        for (int b = a + 1; b < n; ++b) {
            if (absent.count(key(a, b)) == 0) present.emplace_back(a, b);
        }
    }
    return present;
}

}  // namespace dbench::graphs
