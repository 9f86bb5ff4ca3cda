#pragma once
// Random numbers of a Dirichlet distribution whose parameters may be tiny.

#include <vector>

#include "base/random.hpp"

namespace dbench::data {

/// Returns the logarithms of a Dirichlet(concentration) variate up to a common constant, from Gamma
/// variates by Marsaglia and Tsang (ACM TOMS 26, 2000). Logarithms are used because the shares for
/// a small concentration are below the smallest double, but their order still matters.
/// concentration[c] = 0 means that class c has no share (-infinity).
std::vector<double> log_dirichlet(const std::vector<double>& concentration, base::Random& random);

}  // namespace dbench::data
