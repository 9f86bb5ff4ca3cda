#pragma once
// How fast matrices mix: closed form where a matrix knows its spectrum, dense solvers for moderate
// n, Lanczos beyond. Empty where the answer is not resolved.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

struct Contraction {
    double rho;  ///< ||P - J/n||_2
    double gap;  ///< 1 - rho, to the digits that the closed form keeps
};

/// Of one matrix.
std::optional<Contraction> contraction(const MatrixPtr& matrix);

/// Of the product of a chain, first applied first.
std::optional<Contraction> contraction(const std::vector<MatrixPtr>& chain);

/// Smallest eigenvalue of a symmetric matrix; empty for others.
std::optional<double> lambda_min(const MatrixPtr& matrix);

/// sqrt(||(1/K) sum_k W_k' W_k - J/n||_2): the expected contraction where each of K matrices is
/// equally likely.
std::optional<double> mean_square_rho(const std::vector<MatrixPtr>& matrices);

/// The number of rounds, at most `limit`, after which the product is J/n to 1e-12 because the
/// sequence averages exactly there (not in the limit of many rounds); empty if it does not.
std::optional<int64_t> finite_time(const std::vector<MatrixPtr>& period, int64_t limit);

}  // namespace dbench::graphs
