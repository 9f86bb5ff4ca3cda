#pragma once
// Matrices as sparse operators, for the numerical side of certificates. Heavy header (Eigen): for
// this room's .cpp files only.

#include <Eigen/SparseCore>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

using SparseRows = Eigen::SparseMatrix<double, Eigen::RowMajor>;

SparseRows sparse(const Matrix& matrix);

/// P - J/n for the product P = W_m ... W_1 of a chain (first applied first), never formed.
class Deviation {
public:
    explicit Deviation(const std::vector<MatrixPtr>& chain);

    int size() const { return n_; }
    Eigen::VectorXd apply(Eigen::VectorXd x) const;
    Eigen::VectorXd apply_transposed(Eigen::VectorXd x) const;
    Eigen::MatrixXd dense() const;
    /// Entries of all factors: multiplications in one application.
    double links() const;
    /// Whether it is one symmetric factor.
    bool symmetric() const { return symmetric_; }

private:
    int n_;
    std::vector<SparseRows> factors_;
    bool symmetric_ = false;
};

bool is_symmetric(const Matrix& matrix);

}  // namespace dbench::graphs
