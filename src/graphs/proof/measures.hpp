#pragma once
// What a graph means for training and for its users, beyond the contraction.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// The decay at which effective neighbours are quoted unless asked otherwise.
inline constexpr double kGamma = 0.951;

/// Effective number of neighbours n_W(gamma) = (1/(1-gamma)) / mean_i(|lambda_i|^2 / (1 - gamma
/// |lambda_i|^2)) (Vogels et al. 2023, arXiv 2301.02151, eq. 2): n for the complete graph, 1 for
/// none. 0 <= gamma < 1. Empty where W's eigenvalues are not resolved.
std::optional<double> effective_neighbours(const MatrixPtr& matrix, double gamma = kGamma);

/// n times the weights in which the chain's product P, applied for ever, leaves the replicas: of
/// the mean that all end at (P row stochastic), or push-sum's w (P column stochastic). All 1 where
/// P is doubly stochastic. Empty where the limit is not unique or not resolved.
std::optional<std::vector<double>> stationary(const std::vector<MatrixPtr>& chain, bool of_rows);

}  // namespace dbench::graphs
