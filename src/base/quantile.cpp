#include "base/quantile.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace dbench::base {

double quantile(std::span<const double> sorted, double q) {
    DBENCH_EXPECT(!sorted.empty() && q >= 0 && q <= 1);
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(position);
    const double part = position - static_cast<double>(below);
    if (part == 0) return sorted[below];  // also the last value
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

}  // namespace dbench::base
