#pragma once
// How fast matrices mix: in closed form if the spectrum is known, by dense solvers for moderate n,
// by Lanczos beyond. Results that cannot be resolved numerically are empty.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

struct Contraction {
    double rho;  ///< ||P - J/n||_2
    double gap;  ///< 1 - rho, with all digits that the closed form gives.
};

/// Returns the contraction of one matrix.
std::optional<Contraction> contraction(const MatrixPtr& matrix);

/// Returns the contraction of the product of a chain, first applied first.
std::optional<Contraction> contraction(const std::vector<MatrixPtr>& chain);

/// Returns the smallest eigenvalue of a symmetric matrix; empty for other matrices.
std::optional<double> lambda_min(const MatrixPtr& matrix);

/// Returns sqrt(||(1/K) sum_k W_k' W_k - J/n||_2): the expected contraction if each of the K
/// matrices is equally likely.
std::optional<double> mean_square_rho(const std::vector<MatrixPtr>& matrices);

/// Returns the number of rounds, at most `limit`, after which the product is J/n to 1e-12 because
/// the sequence averages exactly (and not in the limit of many rounds); empty if there is none.
std::optional<int64_t> finite_time(const std::vector<MatrixPtr>& period, int64_t limit);

}  // namespace dbench::graphs
