#pragma once
// Dense eigenvalue decompositions by Eigen. Each use of Eigen's decompositions costs seconds of
// compile time, so they are instantiated in dense.cpp only. Heavy header (Eigen): include it from
// .cpp files only.

#include <Eigen/Core>
#include <optional>

namespace dbench::graphs {

/// Returns the eigenvalues of a symmetric matrix, ascending. Reads its lower triangle only.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix);

/// Eigenvalues, ascending, and orthonormal eigenvectors: column k belongs to values(k).
struct Eigenpairs {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
};
Eigenpairs symmetric_eigenpairs(const Eigen::MatrixXd& matrix);

/// Returns the eigenvalues of a square matrix in no particular order; empty if the iteration does
/// not converge.
std::optional<Eigen::VectorXcd> eigenvalues(const Eigen::MatrixXd& matrix);

}  // namespace dbench::graphs
