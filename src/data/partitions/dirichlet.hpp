#pragma once
// Dirichlet variates whose parameters may be tiny.

#include <vector>

#include "base/random.hpp"

namespace dbench::data {

/// Logarithms of a Dirichlet(concentration) variate up to a common constant, by Gamma variates of
/// Marsaglia and Tsang (ACM TOMS 26, 2000). In logarithms because the shares of a small
/// concentration lie below the least double, and their order still matters.
/// concentration[c] = 0: class c has no share (-infinity).
std::vector<double> log_dirichlet(const std::vector<double>& concentration, base::Random& random);

}  // namespace dbench::data
