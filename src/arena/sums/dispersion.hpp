#pragma once
// Four measures of how unequal positive numbers are, defined in docs/numerics.md.

#include <span>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Rounds a norm to the run's precision, in which it is stored. Dispersion measures use the rounded
/// norms, so that they can be recomputed from the file.
inline double as_stored(double norm, DType precision) {
    return precision == DType::float32 ? static_cast<double>(static_cast<float>(norm)) : norm;
}

/// The four measures of one set of numbers.
struct Dispersion {
    double gini;                      ///< sum_ij |a_i - a_j| / (2 n^2 mean)
    double index_of_dispersion;       ///< variance / mean, in the unit of the values
    double coefficient_of_variation;  ///< standard deviation / mean
    double quartile_coefficient;      ///< (Q3 - Q1) / (Q3 + Q1), quartiles interpolated linearly
};

/// Computes the measures of n >= 1 values, with population moments. A measure is 0 if its
/// denominator is 0, exactly 0 for equal values, and NaN if any value is NaN. Sorts `values`. O(n
/// log n).
Dispersion dispersion(std::span<double> values);

}  // namespace dbench::arena
