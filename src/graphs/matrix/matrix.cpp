#include "graphs/matrix/matrix.hpp"

#include <algorithm>
#include <cmath>

namespace dbench::graphs {
namespace {

// True if the row belongs to a J/m block: m links of weight 1/m.
bool is_share(const std::vector<Link>& row) {
    const double m = static_cast<double>(row.size());
    return std::all_of(row.begin(), row.end(),
                       [m](const Link& link) { return std::abs(link.weight * m - 1) <= 1e-12; });
}

bool same_peers(const std::vector<Link>& a, const std::vector<Link>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Link& x, const Link& y) { return x.peer == y.peer; });
}

class Lazy final : public Matrix {
public:
    Lazy(MatrixPtr matrix, double theta) : matrix_(std::move(matrix)), theta_(theta) {}

    int size() const override { return matrix_->size(); }
    std::vector<Link> in(int i) const override { return slowed(matrix_->in(i), i); }
    std::vector<Link> out(int i) const override { return slowed(matrix_->out(i), i); }
    bool transitive() const override { return matrix_->transitive(); }
    std::optional<Spectrum> spectrum() const override {
        auto spectrum = matrix_->spectrum();
        if (spectrum) {
            for (auto& value : spectrum->values) value *= theta_;
        }
        return spectrum;
    }

private:
    std::vector<Link> slowed(std::vector<Link> links, int i) const {
        for (Link& link : links) {
            link.weight = theta_ * link.weight + (link.peer == i ? 1 - theta_ : 0.0);
        }
        return links;
    }

    MatrixPtr matrix_;
    double theta_;
};

}  // namespace

const std::vector<std::vector<int>>& Matrix::groups() const {
    std::call_once(once_, [this] { groups_ = find_groups(); });
    return groups_;
}

std::vector<std::vector<int>> Matrix::find_groups() const {
    std::vector<std::vector<int>> groups;
    std::vector<bool> taken(size(), false);
    for (int i = 0; i < size(); ++i) {
        if (taken[i]) continue;
        const auto row = in(i);
        if (row.size() < 2 || !is_share(row) || !same_peers(row, out(i))) continue;
        const bool block = std::all_of(row.begin(), row.end(), [&](const Link& link) {
            if (link.peer == i) return true;
            if (link.peer < i) return false;  // otherwise that peer would have found the group
            const auto other = in(link.peer);
            return is_share(other) && same_peers(row, other) && same_peers(row, out(link.peer));
        });
        if (!block) continue;
        std::vector<int>& members = groups.emplace_back();
        for (const Link& link : row) {
            members.push_back(link.peer);
            taken[link.peer] = true;
        }
    }
    return groups;
}

MatrixPtr lazy_matrix(MatrixPtr matrix, double theta) {
    if (theta == 1) return matrix;
    return std::make_shared<Lazy>(std::move(matrix), theta);
}

}  // namespace dbench::graphs
