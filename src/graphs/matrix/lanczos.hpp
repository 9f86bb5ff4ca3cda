#pragma once
// Extreme eigenvalues of a symmetric operator that is known only by its products with vectors.
// Heavy header (Eigen): include it from .cpp files of this module only.

#include <Eigen/Core>
#include <functional>
#include <optional>

namespace dbench::graphs {

/// y = A x for a symmetric n x n matrix A.
using Operator = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

enum class End { lowest, highest, largest /* modulus */ };

/// Returns the eigenvalue at one end of A's spectrum, to 1e-11 of the largest modulus or better.
/// Returns empty if that accuracy is not reached in the allowed number of steps; `work`, the
/// multiplications in one product, limits the steps so that the call takes seconds. Uses Lanczos
/// without reorthogonalisation: rounding repeats eigenvalues that have converged, which does no
/// harm at the ends of the spectrum (Paige 1980), and a step costs no more than the product, so
/// thousands of steps are affordable.
std::optional<double> lanczos(int n, const Operator& apply, double work, End end);

}  // namespace dbench::graphs
