#pragma once
// Mixing matrices for tests, written down as dense matrices.

#include <vector>

#include "base/random.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm::tests {

using Matrix = std::vector<std::vector<double>>;

class DenseSchedule : public graphs::Schedule {
public:
    explicit DenseSchedule(Matrix w, std::vector<std::vector<int>> groups = {})
        : w_(std::move(w)), groups_(std::move(groups)) {}

    const Matrix& matrix() const { return w_; }

    int size() const override { return static_cast<int>(w_.size()); }
    graphs::Round at(int64_t) const override { return {0, true}; }
    std::vector<graphs::Link> in(graphs::Round, int i) const override {
        std::vector<graphs::Link> links;
        for (int j = 0; j < size(); ++j) {
            if (w_[i][j] != 0 || i == j) links.push_back({j, w_[i][j]});
        }
        return links;
    }
    std::vector<graphs::Link> out(graphs::Round, int j) const override {
        std::vector<graphs::Link> links;
        for (int i = 0; i < size(); ++i) {
            if (w_[i][j] != 0 || i == j) links.push_back({i, w_[i][j]});
        }
        return links;
    }
    std::vector<std::vector<int>> groups(graphs::Round) const override { return groups_; }
    int64_t period() const override { return 1; }

private:
    Matrix w_;
    std::vector<std::vector<int>> groups_;
};

inline Matrix identity(int n) {
    Matrix w(n, std::vector<double>(n, 0.0));
    for (int i = 0; i < n; ++i) w[i][i] = 1;
    return w;
}

/// Replica i uses itself and i + each step (mod n), with equal weights.
inline DenseSchedule circulant(int n, const std::vector<int>& steps) {
    Matrix w(n, std::vector<double>(n, 0.0));
    for (int i = 0; i < n; ++i) {
        w[i][i] += 1.0 / static_cast<double>(steps.size() + 1);
        for (const int step : steps) {
            w[i][((i + step) % n + n) % n] += 1.0 / static_cast<double>(steps.size() + 1);
        }
    }
    return DenseSchedule(w);
}

/// Averages within each group. Replicas outside all groups are not modified.
inline DenseSchedule grouped(int n, const std::vector<std::vector<int>>& groups) {
    Matrix w = identity(n);
    for (const auto& group : groups) {
        for (const int i : group) {
            for (const int j : group) w[i][j] = 1.0 / static_cast<double>(group.size());
        }
    }
    return DenseSchedule(w, groups);
}

inline DenseSchedule complete(int n) {
    if (n == 1) return DenseSchedule(identity(1));
    std::vector<int> all;
    for (int i = 0; i < n; ++i) all.push_back(i);
    return grouped(n, {all});
}

/// Weights of both signs between any two replicas, half of them 0. Rows sum to 1; one self weight
/// is 0.
inline DenseSchedule arbitrary(int n, uint64_t seed) {
    Matrix w = identity(n);
    base::Random random(seed, base::Purpose::graph);
    for (int i = 0; i < n && n > 1; ++i) {
        for (int j = 0; j < n; ++j) {
            if (i == j || random.uniform() < 0.5) continue;
            w[i][j] = random.uniform() - 0.3;
            w[i][i] -= w[i][j];
        }
    }
    if (n > 2) {
        w[1].assign(n, 0.0);
        w[1][0] = 0.25;
        w[1][2] = 0.75;
    }
    return DenseSchedule(w);
}

/// Replicas 0 .. 4 average in two interleaved groups, the others mix along a path: the same rank
/// has both kinds of work in one round.
inline DenseSchedule groups_and_path(int n) {
    Matrix w = identity(n);
    const std::vector<std::vector<int>> groups{{0, 2, 4}, {1, 3}};
    for (const auto& group : groups) {
        for (const int i : group) {
            for (const int j : group) w[i][j] = 1.0 / static_cast<double>(group.size());
        }
    }
    for (int i = 5; i + 1 < n; ++i) {
        w[i][i] -= 0.3;
        w[i + 1][i + 1] -= 0.3;
        w[i][i + 1] = w[i + 1][i] = 0.3;
    }
    return DenseSchedule(w, groups);
}

/// Returns the matrices that every test of mixing uses.
inline std::vector<DenseSchedule> all_schedules(int n) {
    std::vector<DenseSchedule> list{circulant(n, {1, -1}), circulant(n, {1, 2, 4}),
                                    circulant(n, {-1}), complete(n), arbitrary(n, 7)};
    std::vector<std::vector<int>> pairs;
    for (int i = 0; i + 1 < n; i += 2) pairs.push_back({i, i + 1});
    if (!pairs.empty()) list.push_back(grouped(n, pairs));
    if (n >= 6) {
        list.push_back(grouped(n, {{0, n - 1}, {1, n - 2}, {2, 3}}));
        list.push_back(groups_and_path(n));
    }
    return list;
}

}  // namespace dbench::comm::tests
