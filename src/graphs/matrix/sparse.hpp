#pragma once
// Mixing matrices as sparse operators, for the numerical part of certificates. Heavy header
// (Eigen): include it from .cpp files of this module only.

#include <Eigen/SparseCore>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// Returns `matrix` in Eigen's sparse format.
SparseRows sparse(const Matrix& matrix);

/// The operator P - J/n for the product P = W_m ... W_1 of a chain (first applied first). P is
/// never formed.
class Deviation {
public:
    explicit Deviation(const std::vector<MatrixPtr>& chain);

    int size() const { return n_; }
    Eigen::VectorXd apply(Eigen::VectorXd x) const;
    Eigen::VectorXd apply_transposed(Eigen::VectorXd x) const;
    Eigen::MatrixXd dense() const;
    /// Number of entries of all factors, which is the number of multiplications in one application.
    double links() const;
    /// True if the chain is a single symmetric factor.
    bool symmetric() const { return symmetric_; }

private:
    int n_;
    std::vector<SparseRows> factors_;
    bool symmetric_ = false;
};

bool is_symmetric(const Matrix& matrix);

}  // namespace dbench::graphs
