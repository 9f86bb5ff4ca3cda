#pragma once
// The contraction of products of many matrices, such as the hundreds of matchings of shift_one.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Returns ||P - J/n||_2 of the product P of doubly stochastic matrices (first applied first). P is
/// never formed, so the result keeps its relative accuracy even if rho is far below the rounding of
/// P's entries. Returns empty if the matrices are not doubly stochastic, if rounding could exceed
/// 1e-6 of the answer (chains that average exactly), or if 1 - rho is below 1e-9.
std::optional<double> long_chain_rho(const std::vector<MatrixPtr>& chain);

}  // namespace dbench::graphs
