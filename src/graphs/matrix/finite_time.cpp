#include <algorithm>
#include <cmath>

#include "base/streams.hpp"
#include "graphs/matrix/sparse.hpp"
#include "graphs/matrix/spectral.hpp"

namespace dbench::graphs {
namespace {

constexpr double kExact = 1e-12;
constexpr double kFall = 1e-6;  // an exact round reduces the deviation by more than this factor
constexpr int kProbes = 4;
constexpr int kColumns = 64;              // columns of the identity per pass
constexpr double kFiniteTimeWork = 2e10;  // most multiplications of a proof by all columns

Eigen::MatrixXd probes(int n) {
    auto random = base::random_stream(0, base::ProbeStream::finite_time);
    return Eigen::MatrixXd::NullaryExpr(n, kProbes, [&] { return 2 * random.uniform() - 1; });
}

double disagreement(const Eigen::MatrixXd& x, const Eigen::RowVectorXd& mean) {
    return (x.rowwise() - mean).cwiseAbs().maxCoeff();
}

// True if all columns of the product of the first `rounds` matrices equal 1/n.
bool proven(const std::vector<SparseRows>& period, int64_t rounds) {
    const auto n = static_cast<int>(period.front().rows());
    for (int first = 0; first < n; first += kColumns) {
        const int count = std::min(kColumns, n - first);
        Eigen::MatrixXd x = Eigen::MatrixXd::Zero(n, count);
        for (int c = 0; c < count; ++c) x(first + c, c) = 1;
        for (int64_t t = 0; t < rounds; ++t) x = period[t % period.size()] * x;
        if ((x.array() - 1.0 / n).abs().maxCoeff() > kExact) return false;
    }
    return true;
}

// Decides by the product's eigenvalues, which suffice for matrices with common eigenvectors.
std::optional<std::optional<int64_t>> by_spectrum(const std::vector<MatrixPtr>& period,
                                                  int64_t limit) {
    std::vector<double> modulus(period.front()->size(), 1.0);
    std::optional<Spectrum::Basis> basis;
    double before = 1;
    std::vector<Spectrum> spectra;
    for (const MatrixPtr& matrix : period) {
        auto spectrum = matrix->spectrum();
        if (!spectrum || (basis && *basis != spectrum->basis) ||
            (spectrum->basis == Spectrum::Basis::own && period.size() > 1)) {
            return std::nullopt;
        }
        basis = spectrum->basis;
        spectra.push_back(std::move(*spectrum));
    }
    for (int64_t t = 0; t < limit; ++t) {
        const auto& values = spectra[t % spectra.size()].values;
        double most = 0;
        for (size_t k = 1; k < modulus.size(); ++k) {
            modulus[k] *= std::abs(1.0 - values[k]);
            most = std::max(most, modulus[k]);
        }
        if (most <= kExact) {
            return most <= before * kFall ? std::optional<int64_t>(t + 1) : std::nullopt;
        }
        before = most;
    }
    return std::optional<int64_t>{};
}

}  // namespace

std::optional<int64_t> finite_time(const std::vector<MatrixPtr>& period, int64_t limit) {
    const int n = period.front()->size();
    if (n == 1) return 1;
    if (const auto closed = by_spectrum(period, limit)) return *closed;

    std::vector<SparseRows> factors;
    double links = 0;
    for (const MatrixPtr& matrix : period) {
        factors.push_back(sparse(*matrix));
        links += static_cast<double>(factors.back().nonZeros());
    }
    Eigen::MatrixXd x = probes(n);
    const Eigen::RowVectorXd mean = x.colwise().mean();
    double before = disagreement(x, mean);
    for (int64_t t = 0; t < limit; ++t) {
        x = factors[t % factors.size()] * x;
        const double now = disagreement(x, mean);
        if (now <= kExact) {
            if (now > before * kFall)
                return std::nullopt;  // converged gradually, so it is not exact
            // Random vectors miss a deviation with probability zero; if it is cheap, check all
            // columns.
            const double work = links / static_cast<double>(period.size()) * (t + 1) * n;
            if (work <= kFiniteTimeWork && !proven(factors, t + 1)) return std::nullopt;
            return t + 1;
        }
        before = now;
    }
    return std::nullopt;
}

}  // namespace dbench::graphs
