#include "dense.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace dbench::graphs::testing {

double norm2(const Eigen::MatrixXd& matrix) {
    return Eigen::JacobiSVD<Eigen::MatrixXd>(matrix).singularValues()(0);
}

Eigen::VectorXd spectrum(const Eigen::MatrixXd& matrix) {
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly)
        .eigenvalues();
}

}  // namespace dbench::graphs::testing
