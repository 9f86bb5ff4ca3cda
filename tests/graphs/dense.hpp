#pragma once
// Schedules as dense matrices, for tests only: simple code for small n.

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs::testing {

using Catch::Approx;

/// Builds a graph from a type name or a JSON object.
inline std::unique_ptr<Schedule> make(const std::string& spec, int n, uint64_t seed = 1) {
    const auto json = spec.front() == '{' ? base::parse_json(spec, "test") : base::Json(spec);
    return make_graph(json, {n, seed});
}

/// Returns W of a round.
inline Eigen::MatrixXd dense(const Schedule& schedule, Round round) {
    const int n = schedule.size();
    Eigen::MatrixXd w = Eigen::MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        for (const Link& link : schedule.in(round, i)) w(i, link.peer) += link.weight;
    }
    return w;
}

inline Eigen::MatrixXd dense(const std::string& spec, int n, int64_t t = 0) {
    const auto schedule = make(spec, n);
    return dense(*schedule, schedule->at(t));
}

inline Eigen::MatrixXd average(int n) { return Eigen::MatrixXd::Constant(n, n, 1.0 / n); }

/// Returns the largest difference of two entries.
inline double distance(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
    return (a - b).cwiseAbs().maxCoeff();
}

/// Returns the largest singular value.
double norm2(const Eigen::MatrixXd& matrix);
/// Returns the eigenvalues of a symmetric matrix, ascending.
Eigen::VectorXd spectrum(const Eigen::MatrixXd& matrix);

/// Checks the properties of every schedule: sorted links with self, columns that are the transpose
/// of the rows, and, if `doubly`, row and column sums of 1 to 1e-12.
inline void check_round(const Schedule& schedule, Round round, bool doubly = true) {
    const int n = schedule.size();
    std::vector<std::vector<Link>> columns(n);
    std::vector<double> sums(n, 0.0);
    for (int i = 0; i < n; ++i) {
        const auto row = schedule.in(round, i);
        double sum = 0;
        bool self = false;
        for (size_t k = 0; k < row.size(); ++k) {
            const bool sorted = k == 0 || row[k - 1].peer < row[k].peer;
            const bool inside = row[k].peer >= 0 && row[k].peer < n;
            if (!sorted || !inside)
                FAIL("row " << i << " of n = " << n << " is not sorted in range");
            if (row[k].peer != i && !(row[k].weight > 0)) FAIL("weight not positive in row " << i);
            self |= row[k].peer == i;
            sum += row[k].weight;
            columns[row[k].peer].push_back({i, row[k].weight});
            sums[row[k].peer] += row[k].weight;
        }
        if (!self) FAIL("row " << i << " leaves out i itself");
        if (doubly && std::abs(sum - 1) > 1e-12) FAIL("row " << i << " sums to " << sum);
    }
    for (int j = 0; j < n; ++j) {
        if (doubly && std::abs(sums[j] - 1) > 1e-12) FAIL("column " << j << " sums to " << sums[j]);
        const auto column = schedule.out(round, j);
        bool same = column.size() == columns[j].size();
        for (size_t k = 0; same && k < column.size(); ++k) {
            same = column[k].peer == columns[j][k].peer &&
                   std::abs(column[k].weight - columns[j][k].weight) <= 1e-15;
        }
        if (!same) FAIL("column " << j << " of n = " << n << " is not the transpose of the rows");
    }
    SUCCEED();
}

}  // namespace dbench::graphs::testing
