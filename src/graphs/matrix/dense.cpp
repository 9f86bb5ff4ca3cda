#include "graphs/matrix/dense.hpp"

#include <Eigen/Eigenvalues>

namespace dbench::graphs {

Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& matrix) {
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly)
        .eigenvalues();
}

Eigenpairs symmetric_eigenpairs(const Eigen::MatrixXd& matrix) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
    return {solver.eigenvalues(), solver.eigenvectors()};
}

std::optional<Eigen::VectorXcd> eigenvalues(const Eigen::MatrixXd& matrix) {
    const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix, false);
    if (solver.info() != Eigen::Success) return std::nullopt;
    return solver.eigenvalues();
}

}  // namespace dbench::graphs
