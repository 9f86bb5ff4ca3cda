#pragma once
// Ends of a symmetric operator's spectrum from its products with vectors. Heavy header (Eigen): for
// this room's .cpp files only.

#include <Eigen/Core>
#include <functional>
#include <optional>

namespace dbench::graphs {

/// y = A x for a symmetric n x n matrix A.
using Operator = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

enum class End { lowest, highest, largest /* modulus */ };

/// The eigenvalue at an end of A's spectrum, to 1e-11 of the largest modulus or better; empty where
/// that is not resolved in the steps that `work`, the multiplications in one product, leaves time
/// for: seconds in all. Lanczos without reorthogonalisation: rounding repeats eigenvalues that have
/// converged, which does no harm at the ends (Paige 1980), and a step costs no more than the
/// product, so that thousands are affordable.
std::optional<double> lanczos(int n, const Operator& apply, double work, End end);

}  // namespace dbench::graphs
