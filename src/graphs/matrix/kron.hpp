#pragma once
// Two-level graphs: nodes of L replicas each; replica a * L + b is place b of node a.

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Returns W = outer (x) inner (Kronecker product): place b of node a uses place q of node o with
/// weight outer_ao inner_bq.
MatrixPtr kronecker(MatrixPtr outer, MatrixPtr inner);

}  // namespace dbench::graphs
