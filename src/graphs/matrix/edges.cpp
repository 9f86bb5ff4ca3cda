#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "graphs/matrix/topology.hpp"

namespace dbench::graphs {
namespace {

// Adjacency lists in one array: `peers` holds the other ends of row i's edges.
struct Lists {
    std::vector<size_t> begin;
    std::vector<int> peers;

    Lists(int n, std::vector<Edge> edges) : begin(n + 1, 0) {
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        peers.reserve(edges.size());
        for (const auto& [row, peer] : edges) {
            ++begin[row + 1];
            peers.push_back(peer);
        }
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
    }
    std::vector<int> row(int i) const {
        return {peers.begin() + begin[i], peers.begin() + begin[i + 1]};
    }
    int length(int i) const { return static_cast<int>(begin[i + 1] - begin[i]); }
};

std::vector<Edge> prepared(const std::vector<Edge>& edges, bool reversed, bool both) {
    std::vector<Edge> out;
    out.reserve(edges.size() * (both ? 2 : 1));
    for (const auto& [from, to] : edges) {
        if (from == to) continue;
        if (!reversed || both) out.emplace_back(from, to);
        if (reversed || both) out.emplace_back(to, from);
    }
    return out;
}

class EdgesExplicit final : public Topology {
public:
    EdgesExplicit(int n, const std::vector<Edge>& edges, bool directed)
        : n_(n), to_(n, prepared(edges, false, !directed)), directed_(directed) {
        if (directed) from_.emplace(n, prepared(edges, true, false));
        regular_ = to_.length(0);
        for (int i = 0; i < n; ++i) {
            if (to_.length(i) != *regular_ || in_degree(i) != *regular_) {
                regular_.reset();
                break;
            }
        }
    }

    int size() const override { return n_; }
    std::vector<int> to(int i) const override { return to_.row(i); }
    std::vector<int> from(int i) const override { return from_ ? from_->row(i) : to_.row(i); }
    bool directed() const override { return directed_; }
    int degree(int i) const override { return to_.length(i); }
    int in_degree(int i) const override { return from_ ? from_->length(i) : to_.length(i); }
    std::optional<int> regular() const override { return regular_; }

private:
    int n_;
    Lists to_;
    std::optional<Lists> from_;
    bool directed_;
    std::optional<int> regular_;
};

}  // namespace

TopologyPtr from_edges(int n, const std::vector<Edge>& edges, bool directed) {
    DBENCH_EXPECT(std::all_of(edges.begin(), edges.end(), [n](const Edge& edge) {
        return edge.first >= 0 && edge.first < n && edge.second >= 0 && edge.second < n;
    }));
    return std::make_shared<EdgesExplicit>(n, edges, directed);
}

bool is_connected(int n, const std::vector<Edge>& edges) {
    std::vector<int> parent(n);
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int i) {
        while (parent[i] != i) i = parent[i] = parent[parent[i]];
        return i;
    };
    int parts = n;
    for (const auto& [from, to] : edges) {
        const int a = root(from);
        const int b = root(to);
        if (a != b) {
            parent[a] = b;
            --parts;
        }
    }
    return parts <= 1;
}

}  // namespace dbench::graphs
