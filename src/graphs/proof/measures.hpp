#pragma once
// Measures of a graph other than its contraction: effective neighbours, disagreement under noise,
// and stationary weights.

#include <complex>
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

/// The momentum at which Disagreement::momentum is computed.
inline constexpr double kMomentum = 0.9;

/// How far replicas stay apart if each has gradients of its own in every iteration: m <- beta m +
/// g, x <- W (x - lr m). Each number is the expected sum over replicas of the squared distance from
/// their mean just before averaging, in the long run, in the units that are given below; var is the
/// variance of one replica's gradients. All sums are over the eigenvalues of W except the mean's 1,
/// so the complete graph has n - 1 each. Empty if a sum is infinite or not resolved.
struct Disagreement {
    /// Independent gradients without momentum, in lr^2 var: sum of 1 / (1 - |lambda|^2).
    std::optional<double> noise;
    /// Independent gradients with beta = kMomentum, in lr^2 var / (1 - beta^2):
    /// sum of (1 - beta^2 |lambda|^2) / ((1 - |lambda|^2) |1 - beta lambda|^2).
    std::optional<double> momentum;
    /// Gradients that differ in the same way in every iteration, in lr^2 var / (1 - beta)^2, and
    /// the limit of `momentum` for beta close to 1: sum of 1 / |1 - lambda|^2.
    std::optional<double> lasting;
};

/// Returns the disagreement on a normal W whose rows sum to 1. All numbers are empty for any other
/// W, because eigenvalues alone do not determine it there, and if the eigenvalues cannot be
/// resolved.
Disagreement disagreement(const MatrixPtr& matrix);

/// Returns 1 - lambda of all eigenvalues of a normal W whose rows sum to 1, without the mean's;
/// empty for any other W, and if they cannot be resolved.
std::optional<std::vector<std::complex<double>>> gaps_of_modes(const MatrixPtr& matrix);

/// Returns n times the limit weights of the replicas if the chain's product P is applied forever:
/// the weights of the mean to which all converge (`of_rows`, P row stochastic), or push-sum's w (P
/// column stochastic). All are 1 if P is doubly stochastic. Empty if the limit is not unique or not
/// resolved.
std::optional<std::vector<double>> stationary(const std::vector<MatrixPtr>& chain, bool of_rows);

}  // namespace dbench::graphs
