#include "graphs/matrix/long_chain.hpp"

#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "graphs/matrix/lanczos.hpp"
#include "graphs/matrix/sparse.hpp"

namespace dbench::graphs {
namespace {

using Eigen::VectorXd;

constexpr double kRounding = 1e-6;    // of the answer, at most
constexpr double kSmallest = 1e-280;  // below, digits are lost to underflow

bool doubly_stochastic(const SparseRows& factor) {
    const VectorXd ones = VectorXd::Ones(factor.rows());
    const auto close = [&](const VectorXd& sums) {
        return (sums - ones).cwiseAbs().maxCoeff() <= 1e-12;
    };
    return close(factor * ones) && close(factor.transpose() * ones);
}

// The factors keep mean and deviation apart, so the mean is taken off after each of them: what
// rounding puts there cannot outlive the deviation.
struct Chain {
    std::vector<SparseRows> factors;

    // Norms of x on the way, the start's and after each factor, are added to `norms`.
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
    base::Random random(0, base::Purpose::graph, {2});
    const auto normal = [&] { return random.normal(); };
    // Of a normal vector the norm after k factors is about their product's Frobenius norm. A
    // rounding after factor k grows with those before it, and shrinks with those behind it.
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
    // Lanczos stands for 1e-11 or so: a gap near that is not resolved.
    if (rounding > kRounding * rho || std::abs(1 - rho) < 1e-9) return std::nullopt;
    return rho;
}

}  // namespace dbench::graphs
