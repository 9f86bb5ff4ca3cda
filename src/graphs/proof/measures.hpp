#pragma once
// Measures of a graph other than its contraction: effective neighbours and stationary weights.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// The default decay gamma of effective neighbours.
inline constexpr double kGamma = 0.951;

/// Returns the effective number of neighbours n_W(gamma) = (1/(1-gamma)) / mean_i(|lambda_i|^2 / (1
/// - gamma |lambda_i|^2)) (Vogels et al. 2023, arXiv 2301.02151, eq. 2): n for the complete graph,
/// 1 without edges. Requires 0 <= gamma < 1. Empty if W's eigenvalues cannot be resolved.
std::optional<double> effective_neighbours(const MatrixPtr& matrix, double gamma = kGamma);

/// Returns n times the limit weights of the replicas if the chain's product P is applied forever:
/// the weights of the mean to which all converge (`of_rows`, P row stochastic), or push-sum's w (P
/// column stochastic). All are 1 if P is doubly stochastic. Empty if the limit is not unique or not
/// resolved.
std::optional<std::vector<double>> stationary(const std::vector<MatrixPtr>& chain, bool of_rows);

}  // namespace dbench::graphs
