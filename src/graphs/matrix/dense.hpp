#pragma once
// What is decomposed densely, by Eigen. Its decompositions take the compiler seconds wherever they
// are named: that is here alone. Heavy header (Eigen): for .cpp files.

#include <Eigen/Core>
#include <optional>

namespace dbench::graphs {

/// Eigenvalues of a symmetric matrix, ascending. Its lower triangle is read.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix);

/// The same with orthonormal eigenvectors: column k belongs to values(k).
struct Eigenpairs {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
};
Eigenpairs symmetric_eigenpairs(const Eigen::MatrixXd& matrix);

/// Eigenvalues of a square matrix, in no order; nothing where the iteration does not converge.
std::optional<Eigen::VectorXcd> eigenvalues(const Eigen::MatrixXd& matrix);

}  // namespace dbench::graphs
