#include <algorithm>

#include "base/error.hpp"
#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {
namespace {

struct Lines {
    std::vector<size_t> begin;
    std::vector<Link> links;

    // `entries` is sorted by (line, peer) and merged. Every line gets a diagonal entry, even if it
    // is 0.
    Lines(int n, const std::vector<MatrixEntry>& entries) : begin(n + 1, 0) {
        links.reserve(entries.size());
        for (const MatrixEntry& entry : entries) {
            ++begin[entry.to + 1];
            links.push_back({entry.from, entry.weight});
        }
        for (int i = 0; i < n; ++i) begin[i + 1] += begin[i];
    }
    std::vector<Link> line(int i) const {
        return {links.begin() + begin[i], links.begin() + begin[i + 1]};
    }
};

std::vector<MatrixEntry> merged(int n, std::vector<MatrixEntry> entries) {
    for (int i = 0; i < n; ++i) entries.push_back({i, i, 0.0});
    std::stable_sort(entries.begin(), entries.end(),
                     [](const MatrixEntry& a, const MatrixEntry& b) {
                         return a.to != b.to ? a.to < b.to : a.from < b.from;
                     });
    std::vector<MatrixEntry> out;
    for (const MatrixEntry& entry : entries) {
        if (!out.empty() && out.back().to == entry.to && out.back().from == entry.from) {
            out.back().weight += entry.weight;
        } else {
            out.push_back(entry);
        }
    }
    std::erase_if(out, [](const MatrixEntry& e) { return e.to != e.from && e.weight == 0; });
    return out;
}

std::vector<MatrixEntry> transposed(std::vector<MatrixEntry> entries) {
    for (MatrixEntry& entry : entries) std::swap(entry.to, entry.from);
    std::sort(entries.begin(), entries.end(), [](const MatrixEntry& a, const MatrixEntry& b) {
        return a.to != b.to ? a.to < b.to : a.from < b.from;
    });
    return entries;
}

class ExplicitMatrixExplicit final : public Matrix {
public:
    ExplicitMatrixExplicit(int n, const std::vector<MatrixEntry>& entries)
        : n_(n), rows_(n, entries), columns_(n, transposed(entries)) {}

    int size() const override { return n_; }
    std::vector<Link> in(int i) const override { return rows_.line(i); }
    std::vector<Link> out(int i) const override { return columns_.line(i); }

private:
    int n_;
    Lines rows_;
    Lines columns_;
};

}  // namespace

MatrixPtr explicit_matrix(int n, std::vector<MatrixEntry> entries) {
    DBENCH_EXPECT(std::all_of(entries.begin(), entries.end(), [n](const MatrixEntry& entry) {
        return entry.to >= 0 && entry.to < n && entry.from >= 0 && entry.from < n;
    }));
    return std::make_shared<ExplicitMatrixExplicit>(n, merged(n, std::move(entries)));
}

}  // namespace dbench::graphs
