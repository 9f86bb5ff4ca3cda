#include "graphs/matrix/spectral.hpp"

#include <algorithm>
#include <cmath>

#include "graphs/matrix/dense.hpp"
#include "graphs/matrix/lanczos.hpp"
#include "graphs/matrix/long_chain.hpp"
#include "graphs/matrix/sparse.hpp"

namespace dbench::graphs {
namespace {

constexpr int kSpectralDense = 1536;  // largest n for n x n solvers
constexpr int kFormed = 512;          // largest n for which a product is formed and decomposed
constexpr size_t kLong = 16;          // if it has fewer factors than these
constexpr double kNothing = 1e-13;    // rounding error of an exact zero

using Complex = std::complex<double>;

Contraction rounded(double rho) {
    if (rho < kNothing) return {0.0, 1.0};
    return {rho, 1.0 - rho};
}

// For the eigenvalue 1 - mu: computes 1 - |1 - mu| without losing the digits of a small mu.
double gap_of(Complex mu) { return (2 * mu.real() - std::norm(mu)) / (1 + std::abs(1.0 - mu)); }

Contraction from_spectrum(const Spectrum& spectrum) {
    double gap = 1.0;
    for (size_t k = 1; k < spectrum.values.size(); ++k) {
        gap = std::min(gap, gap_of(spectrum.values[k]));
    }
    return gap > 1 - kNothing ? Contraction{0.0, 1.0} : Contraction{1.0 - gap, gap};
}

// Returns the eigenvalues of the chain's product, if all factors share their eigenvectors.
std::optional<std::vector<Complex>> common_product(const std::vector<MatrixPtr>& chain) {
    std::vector<Complex> product(chain.front()->size(), 1.0);
    std::optional<Spectrum::Basis> basis;
    for (const MatrixPtr& matrix : chain) {
        const auto spectrum = matrix->spectrum();
        if (!spectrum || (basis && *basis != spectrum->basis) ||
            (spectrum->basis == Spectrum::Basis::own && chain.size() > 1)) {
            return std::nullopt;
        }
        basis = spectrum->basis;
        for (size_t k = 0; k < product.size(); ++k) product[k] *= 1.0 - spectrum->values[k];
    }
    return product;
}

double largest(const std::vector<Complex>& values) {
    double most = 0;
    for (size_t k = 1; k < values.size(); ++k) most = std::max(most, std::abs(values[k]));
    return most;
}

double dense_rho(const Deviation& deviation) {
    const Eigen::MatrixXd matrix = deviation.dense();
    if (deviation.symmetric()) return symmetric_eigenvalues(matrix).cwiseAbs().maxCoeff();
    // Squaring keeps the digits of the largest singular value: the rounding error of a product is
    // small relative to its own norm.
    const Eigen::MatrixXd gram = matrix.transpose() * matrix;
    return std::sqrt(std::max(0.0, symmetric_eigenvalues(gram).maxCoeff()));
}

// Computes rho of a symmetric W whose rows sum to 1 from its eigenvalues, without the 1 of the
// mean.
std::optional<Contraction> from_eigenvalues(const MatrixPtr& matrix) {
    const int n = matrix->size();
    if (n > kSpectralDense || !is_symmetric(*matrix)) return std::nullopt;
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (const Link& link : matrix->in(i)) sum += link.weight;
        if (std::abs(sum - 1) > 1e-12) return std::nullopt;
    }
    std::vector<double> values = matrix->eigenvalues();
    values.erase(std::min_element(values.begin(), values.end(), [](double a, double b) {
        return std::abs(a - 1) < std::abs(b - 1);
    }));
    double rho = 0;
    for (const double value : values) rho = std::max(rho, std::abs(value));
    return rounded(rho);
}

std::optional<double> lanczos_rho(const Deviation& deviation) {
    const int n = deviation.size();
    if (deviation.symmetric()) {
        const auto value = lanczos(
            n, [&](const Eigen::VectorXd& x) { return deviation.apply(x); }, deviation.links(),
            End::largest);
        return value ? std::optional<double>(std::abs(*value)) : std::nullopt;
    }
    const auto square = lanczos(
        n, [&](const Eigen::VectorXd& x) { return deviation.apply_transposed(deviation.apply(x)); },
        2 * deviation.links(), End::highest);
    if (!square || *square < 1e-8) return std::nullopt;
    return std::sqrt(*square);
}

std::optional<Contraction> numeric(const Deviation& deviation) {
    if (deviation.size() <= kSpectralDense) return rounded(dense_rho(deviation));
    const auto rho = lanczos_rho(deviation);
    // Lanczos is accurate to about 1e-12, so a gap near that is not resolved.
    if (!rho || std::abs(1 - *rho) < 1e-9) return std::nullopt;
    return rounded(*rho);
}

}  // namespace

const std::vector<double>& Matrix::eigenvalues() const {
    std::call_once(spectrum_once_, [&] {
        const Eigen::VectorXd values = symmetric_eigenvalues(Eigen::MatrixXd(sparse(*this)));
        eigenvalues_.assign(values.begin(), values.end());
    });
    return eigenvalues_;
}

std::optional<Contraction> contraction(const MatrixPtr& matrix) {
    if (matrix->size() == 1) return Contraction{0.0, 1.0};
    if (const auto spectrum = matrix->spectrum()) return from_spectrum(*spectrum);
    if (const auto found = from_eigenvalues(matrix)) return found;
    return numeric(Deviation({matrix}));
}

std::optional<Contraction> contraction(const std::vector<MatrixPtr>& chain) {
    if (chain.size() == 1) return contraction(chain.front());
    if (const auto product = common_product(chain)) return rounded(largest(*product));
    const int n = chain.front()->size();
    if (chain.size() >= kLong || (n > kFormed && n <= kSpectralDense)) {
        if (const auto rho = long_chain_rho(chain)) return Contraction{*rho, 1 - *rho};
    }
    return numeric(Deviation(chain));
}

std::optional<double> lambda_min(const MatrixPtr& matrix) {
    if (!is_symmetric(*matrix)) return std::nullopt;
    const int n = matrix->size();
    if (n == 1) return 1.0;
    if (const auto spectrum = matrix->spectrum()) {
        double most = 0;
        for (const Complex mu : spectrum->values) most = std::max(most, mu.real());
        return std::abs(1 - most) < kNothing ? 0.0 : 1 - most;
    }
    if (n <= kSpectralDense) return matrix->eigenvalues().front();
    const SparseRows rows = sparse(*matrix);
    return lanczos(
        n, [&](const Eigen::VectorXd& x) -> Eigen::VectorXd { return rows * x; },
        static_cast<double>(rows.nonZeros()), End::lowest);
}

std::optional<double> mean_square_rho(const std::vector<MatrixPtr>& matrices) {
    const int n = matrices.front()->size();
    const double share = 1.0 / static_cast<double>(matrices.size());
    std::vector<Complex> sum(n, 0.0);
    bool closed = true;
    for (const MatrixPtr& matrix : matrices) {
        const auto values =
            common_product({matrix, matrices.front()});  // empty if the bases differ
        const auto own = values ? matrix->spectrum() : std::nullopt;
        if (!own) {
            closed = false;
            break;
        }
        for (int k = 0; k < n; ++k) sum[k] += share * std::norm(1.0 - own->values[k]);
    }
    if (closed) return std::sqrt(rounded(largest(sum)).rho);
    SparseRows mean(n, n);
    for (const MatrixPtr& matrix : matrices) {
        const SparseRows rows = sparse(*matrix);
        mean += share * SparseRows(rows.transpose() * rows);
    }
    const auto apply = [&](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        return (mean * x).array() - x.mean();
    };
    if (n > kSpectralDense) {
        const auto value = lanczos(n, apply, static_cast<double>(mean.nonZeros()), End::largest);
        return value ? std::optional<double>(std::sqrt(std::abs(*value))) : std::nullopt;
    }
    const Eigen::MatrixXd dense = Eigen::MatrixXd(mean).array() - 1.0 / n;
    return std::sqrt(rounded(symmetric_eigenvalues(dense).cwiseAbs().maxCoeff()).rho);
}

}  // namespace dbench::graphs
