#pragma once
// The contraction of long products, such as the hundreds of matchings of shift_one.

#include <optional>
#include <vector>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// ||P - J/n||_2 of the product P of doubly stochastic matrices (first applied first), never
/// formed: its relative digits survive where rho is far below the rounding of P's entries. Empty
/// where the matrices are not doubly stochastic, where rounding could be more than 1e-6 of the
/// answer (chains that average exactly), and where 1 - rho is below 1e-9.
std::optional<double> long_chain_rho(const std::vector<MatrixPtr>& chain);

}  // namespace dbench::graphs
