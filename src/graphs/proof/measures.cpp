#include "graphs/proof/measures.hpp"

#include <algorithm>
#include <cmath>

#include "graphs/matrix/dense.hpp"
#include "graphs/matrix/sparse.hpp"

namespace dbench::graphs {
namespace {

constexpr int kSymmetricDense = 1536;
constexpr int kGeneralDense = 300;  // Hessenberg and QR cost ten times as much
constexpr int kPowerSteps = 20000;

// Returns |lambda_i|^2 of all eigenvalues of W.
std::optional<std::vector<double>> squared_moduli(const MatrixPtr& matrix) {
    const int n = matrix->size();
    std::vector<double> squares;
    if (const auto closed = matrix->spectrum()) {
        for (const auto mu : closed->values) squares.push_back(std::norm(1.0 - mu));
        return squares;
    }
    if (is_symmetric(*matrix) && n <= kSymmetricDense) {
        for (const double value : matrix->eigenvalues()) squares.push_back(value * value);
        return squares;
    }
    if (n > kGeneralDense) return std::nullopt;
    const auto values = eigenvalues(Eigen::MatrixXd(sparse(*matrix)));
    if (!values) return std::nullopt;
    for (const auto& value : *values) squares.push_back(std::norm(value));
    return squares;
}

constexpr double kNormal = 1e-12;    // rounding error of rows' sums, and of W W' - W' W
constexpr double kInfinite = 1e-12;  // a 1 - |lambda| below it is the rounding error of a 0

bool rows_sum_to_1(const Matrix& matrix) {
    for (int i = 0; i < matrix.size(); ++i) {
        double sum = 0;
        for (const Link& link : matrix.in(i)) sum += link.weight;
        if (std::abs(sum - 1) > kNormal) return false;
    }
    return true;
}

// Removes the value that is closest to 0, which belongs to the mean.
void remove_mean(std::vector<std::complex<double>>& gaps) {
    gaps.erase(std::min_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) {
        return std::abs(a) < std::abs(b);
    }));
}

}  // namespace

std::optional<std::vector<std::complex<double>>> gaps_of_modes(const MatrixPtr& matrix) {
    const int n = matrix->size();
    if (const auto closed = matrix->spectrum()) {
        return std::vector<std::complex<double>>(closed->values.begin() + 1, closed->values.end());
    }
    if (!rows_sum_to_1(*matrix)) return std::nullopt;
    std::vector<std::complex<double>> gaps;
    if (is_symmetric(*matrix)) {
        if (n > kSymmetricDense) return std::nullopt;
        for (const double value : matrix->eigenvalues()) gaps.emplace_back(1 - value);
    } else {
        if (n > kGeneralDense) return std::nullopt;
        const Eigen::MatrixXd w(sparse(*matrix));
        if ((w * w.transpose() - w.transpose() * w).cwiseAbs().maxCoeff() > kNormal) {
            return std::nullopt;
        }
        const auto values = eigenvalues(w);
        if (!values) return std::nullopt;
        for (const auto& value : *values) gaps.push_back(1.0 - value);
    }
    remove_mean(gaps);
    return gaps;
}

Disagreement disagreement(const MatrixPtr& matrix) {
    const auto gaps = gaps_of_modes(matrix);
    if (!gaps) return {};
    double noise = 0, momentum = 0, lasting = 0;
    bool settles = true;
    for (const auto& gap : *gaps) {
        if (std::abs(gap) < kInfinite) return {};
        // 1 - |lambda|^2 without losing the digits of a small gap.
        const double below_one = 2 * gap.real() - std::norm(gap);
        settles &= below_one > kInfinite;
        noise += 1 / below_one;
        const double square = 1 - below_one;
        const double filtered = std::norm(1 - kMomentum + kMomentum * gap);
        momentum += (1 - kMomentum * kMomentum * square) / (below_one * filtered);
        lasting += 1 / std::norm(gap);
    }
    if (!settles) return {.noise = {}, .momentum = {}, .lasting = lasting};
    return {noise, momentum, lasting};
}

std::optional<double> effective_neighbours(const MatrixPtr& matrix, double gamma) {
    const auto squares = squared_moduli(matrix);
    if (!squares) return std::nullopt;
    double sum = 0;
    for (const double square : *squares) {
        if (gamma * square >= 1) return std::nullopt;  // not a contraction
        sum += square / (1 - gamma * square);
    }
    return static_cast<double>(squares->size()) / ((1 - gamma) * sum);
}

std::optional<std::vector<double>> stationary(const std::vector<MatrixPtr>& chain, bool of_rows) {
    const int n = chain.front()->size();
    std::vector<SparseRows> steps;  // applied in order; a left eigenvector uses the reverse order
    for (const MatrixPtr& matrix : chain) {
        const SparseRows rows = sparse(*matrix);
        steps.push_back(of_rows ? SparseRows(rows.transpose()) : rows);
    }
    if (of_rows) std::reverse(steps.begin(), steps.end());
    // Iterate from two starts: if they end at different points, the limit is not unique.
    Eigen::MatrixXd x = Eigen::MatrixXd::Ones(n, 2);
    for (int i = 0; i < n; ++i) x(i, 1) = i % 2 == 0 ? 1.5 : 0.5;
    x.col(1) *= n / x.col(1).sum();
    for (int step = 0; step < kPowerSteps; ++step) {
        const Eigen::MatrixXd before = x;
        for (const SparseRows& factor : steps) x = factor * x;
        // Entries may be as large as n, and so may the rounding of a step.
        if ((x - before).cwiseAbs().maxCoeff() > 1e-14 * x.maxCoeff()) continue;
        if ((x.col(0) - x.col(1)).cwiseAbs().maxCoeff() > 1e-9) return std::nullopt;
        return std::vector<double>(x.col(0).begin(), x.col(0).end());
    }
    return std::nullopt;
}

}  // namespace dbench::graphs
