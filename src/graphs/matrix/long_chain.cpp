#include "graphs/matrix/long_chain.hpp"

#include <cmath>
#include <limits>

#include "base/streams.hpp"
#include "graphs/matrix/lanczos.hpp"
#include "graphs/matrix/sparse.hpp"

namespace dbench::graphs {
namespace {

using Eigen::VectorXd;

constexpr double kRounding = 1e-6;    // most rounding, relative to the answer
constexpr double kSmallest = 1e-280;  // below this, digits are lost to underflow

bool doubly_stochastic(const SparseRows& factor) {
    const VectorXd ones = VectorXd::Ones(factor.rows());
    const auto close = [&](const VectorXd& sums) {
        return (sums - ones).cwiseAbs().maxCoeff() <= 1e-12;
    };
    return close(factor * ones) && close(factor.transpose() * ones);
}

// The product of a chain without the mean. Factors keep mean and deviation apart, so the mean is
// subtracted after each factor; its rounding errors therefore cannot outlast the deviation.
struct Chain {
    std::vector<SparseRows> factors;

    // Applies the factors. Appends the norms of x at the start and after each factor to `norms`.
    VectorXd forwards(VectorXd x, std::vector<double>* norms = nullptr) const {
        x.array() -= x.mean();
        if (norms) norms->push_back(x.norm());
        for (const SparseRows& factor : factors) {
            x = factor * x;
            x.array() -= x.mean();
            if (norms) norms->push_back(x.norm());
        }
        return x;
    }
    VectorXd backwards(VectorXd x, std::vector<double>* norms = nullptr) const {
        x.array() -= x.mean();
        if (norms) norms->push_back(x.norm());
        for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
            x = factor->transpose() * x;
            x.array() -= x.mean();
            if (norms) norms->push_back(x.norm());
        }
        return x;
    }
};

}  // namespace

std::optional<double> long_chain_rho(const std::vector<MatrixPtr>& chain) {
    const int n = chain.front()->size();
    Chain product;
    double links = 0;
    for (const MatrixPtr& matrix : chain) {
        product.factors.push_back(sparse(*matrix));
        if (!doubly_stochastic(product.factors.back())) return std::nullopt;
        links += static_cast<double>(product.factors.back().nonZeros()) + n;
    }
    auto random = base::random_stream(0, base::ProbeStream::long_chain);
    const auto normal = [&] { return random.normal(); };
    // For a normal vector, the norm after k factors is about the Frobenius norm of their product. A
    // rounding error after factor k is as large as the factors before it allow and shrinks with
    // those after it.
    std::vector<double> to, from;
    const VectorXd end = product.forwards(VectorXd::NullaryExpr(n, normal), &to);
    product.backwards(VectorXd::NullaryExpr(n, normal), &from);
    const double scale = end.norm() / to.front();
    if (scale < kSmallest) return std::nullopt;
    double rounding = 0;
    for (size_t k = 0; k < to.size(); ++k) rounding += to[k] * from[to.size() - 1 - k];
    rounding *= std::numeric_limits<double>::epsilon();

    const auto square = lanczos(
        n,
        [&](const VectorXd& x) -> VectorXd {
            return product.backwards(product.forwards(x) / scale) / scale;
        },
        2 * links, End::highest);
    if (!square || *square <= 0) return std::nullopt;
    const double rho = scale * std::sqrt(*square);
    // Lanczos is accurate to about 1e-11, so a gap near that is not resolved.
    if (rounding > kRounding * rho || std::abs(1 - rho) < 1e-9) return std::nullopt;
    return rho;
}

}  // namespace dbench::graphs
