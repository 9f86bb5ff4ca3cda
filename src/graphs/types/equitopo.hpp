#pragma once
// Weighted circulant matrices, as EquiTopo (Song et al. 2022, arXiv 2210.07881) is made of.

#include <map>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// i sends to i + offset (mod n) with that offset's weight; offset 0 is self. Closed spectrum;
/// O(offsets) memory. Weights must sum to 1.
MatrixPtr circulant_matrix(int n, std::map<int, double> weights);

}  // namespace dbench::graphs
