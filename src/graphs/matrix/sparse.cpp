#include "graphs/matrix/sparse.hpp"

#include <cmath>

namespace dbench::graphs {

SparseRows sparse(const Matrix& matrix) {
    const int n = matrix.size();
    std::vector<Eigen::Triplet<double>> entries;
    for (int i = 0; i < n; ++i) {
        for (const Link& link : matrix.in(i)) entries.emplace_back(i, link.peer, link.weight);
    }
    SparseRows rows(n, n);
    rows.setFromTriplets(entries.begin(), entries.end());
    return rows;
}

Deviation::Deviation(const std::vector<MatrixPtr>& chain) : n_(chain.front()->size()) {
    for (const MatrixPtr& matrix : chain) factors_.push_back(sparse(*matrix));
    symmetric_ = chain.size() == 1 && is_symmetric(*chain.front());
}

Eigen::VectorXd Deviation::apply(Eigen::VectorXd x) const {
    const double mean = x.mean();
    for (const SparseRows& factor : factors_) x = factor * x;
    return x.array() - mean;
}

Eigen::VectorXd Deviation::apply_transposed(Eigen::VectorXd x) const {
    const double mean = x.mean();
    for (auto factor = factors_.rbegin(); factor != factors_.rend(); ++factor) {
        x = factor->transpose() * x;
    }
    return x.array() - mean;
}

Eigen::MatrixXd Deviation::dense() const {
    Eigen::MatrixXd product = Eigen::MatrixXd(factors_.front());
    for (size_t k = 1; k < factors_.size(); ++k) product = factors_[k] * product;
    return product.array() - 1.0 / n_;
}

double Deviation::links() const {
    double links = 0;
    for (const SparseRows& factor : factors_) links += static_cast<double>(factor.nonZeros());
    return links;
}

bool is_symmetric(const Matrix& matrix) {
    for (int i = 0; i < (matrix.transitive() ? 1 : matrix.size()); ++i) {
        const auto row = matrix.in(i);
        const auto column = matrix.out(i);
        if (row.size() != column.size()) return false;
        for (size_t k = 0; k < row.size(); ++k) {
            if (row[k].peer != column[k].peer ||
                std::abs(row[k].weight - column[k].weight) > 1e-15) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace dbench::graphs
