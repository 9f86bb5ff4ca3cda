#pragma once
// Weighted circulant matrices, the building blocks of EquiTopo (Song et al. 2022, arXiv
// 2210.07881).

#include <map>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Returns the matrix in which i sends to i + offset (mod n) with that offset's weight; offset 0 is
/// self. Weights must sum to 1. The spectrum is known in closed form; memory is O(offsets).
MatrixPtr circulant_matrix(int n, std::map<int, double> weights);

}  // namespace dbench::graphs
