#include "conform/weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace dbench::conform {

void Iteration::record_update(const Matrix& lr_d) const {
    if (recorded) recorded->update = lr_d;
}
void Iteration::record_averaging(const Matrix& before, const Weights& weights, int rows) const {
    record_no_averaging(before);
    if (recorded) record_rows(rows * rows_sent(weights));
}
void Iteration::record_no_averaging(const Matrix& x) const {
    if (recorded) recorded->before = x;
}
void Iteration::record_rows(double rows) const {
    if (recorded) recorded->rows += rows;
}

void Iteration::record_messages(const Weights& w) const { record_messages(w, message_share); }
void Iteration::record_messages(const Weights& w, double share) const {
    double links = 0;
    for (Eigen::Index i = 0; i < w.outerSize(); ++i) {
        for (Weights::InnerIterator entry(w, i); entry; ++entry) {
            links += entry.row() != entry.col() && entry.value() != 0;
        }
    }
    record_rows(links * share);
}

Weights weights_of(const graphs::Schedule& graph, graphs::Round round) {
    const int n = graph.size();
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n; ++i) {
        for (const graphs::Link& link : graph.in(round, i)) {
            entries.emplace_back(i, link.peer, link.weight);
        }
    }
    Weights w(n, n);
    w.setFromTriplets(entries.begin(), entries.end());
    return w;
}

Weights mean_weights(int64_t n) {
    return Matrix::Constant(n, n, 1.0 / static_cast<double>(n)).sparseView();
}

double rows_sent(const Weights& w) {
    const auto n = static_cast<int>(w.rows());
    const Matrix dense(w);
    std::vector<int> set(n);  // the smallest replica to which each replica is connected
    std::iota(set.begin(), set.end(), 0);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (dense(i, j) == 0 || set[i] == set[j]) continue;
            const auto [low, high] = std::minmax(set[i], set[j]);
            std::replace(set.begin(), set.end(), int(high), int(low));
        }
    }
    double rows = 0;
    for (int first = 0; first < n; ++first) {
        const auto m = static_cast<double>(std::count(set.begin(), set.end(), first));
        bool alike = true;
        double links = 0;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                if (set[i] != first || set[j] != first) continue;
                alike = alike && std::abs(dense(i, j) - 1 / m) < 1e-12;
                links += i != j && dense(i, j) != 0;
            }
        }
        rows += alike && m > 1 ? 2 * (m - 1) : links;
    }
    return rows;
}

double average_blocks(Matrix& x, int64_t block) {
    double sent = 0;
    for (Eigen::Index first = 0; first < x.rows(); first += block) {
        auto rows = x.middleRows(first, std::min<Eigen::Index>(block, x.rows() - first));
        const Eigen::RowVectorXd mean = rows.colwise().mean();
        rows.rowwise() = mean;
        sent += 2 * static_cast<double>(rows.rows() - 1);
    }
    return sent;
}

}  // namespace dbench::conform
