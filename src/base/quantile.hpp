#pragma once

#include <span>

namespace dbench::base {

/// Returns the quantile of q, 0 <= q <= 1, of values in ascending order: the one at position
/// q (n - 1), counted from 0, linear between neighbours. Requires at least one value.
double quantile(std::span<const double> sorted, double q);

}  // namespace dbench::base
