#include "arena/sums/dispersion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/quantile.hpp"

namespace dbench::arena {
namespace {

double ratio(double numerator, double denominator) {
    return denominator == 0 ? 0 : numerator / denominator;
}

}  // namespace

Dispersion dispersion(std::span<double> values) {
    DBENCH_EXPECT(!values.empty());
    if (std::any_of(values.begin(), values.end(), [](double a) { return std::isnan(a); })) {
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        return {nan, nan, nan, nan};
    }
    std::sort(values.begin(), values.end());
    const size_t size = values.size();
    const auto n = static_cast<double>(size);

    // The moments are relative to the smallest value, so that equal values have a variance of
    // exactly 0.
    const double least = values.front();
    double above = 0;
    for (const double a : values) above += a - least;
    above /= n;
    double variance = 0;
    for (const double a : values) variance += (a - least - above) * (a - least - above);
    variance /= n;
    const double mean = least + above;

    // sum_ij |a_i - a_j| = 2 sum_k (2 k - n + 1) a_(k), k = 0, 1, ...; summed in pairs from both
    // ends.
    double differences = 0;
    for (size_t k = 0; k < size / 2; ++k) {
        const double weight = n - 1 - 2 * static_cast<double>(k);
        differences += weight * (values[size - 1 - k] - values[k]);
    }
    const double q1 = base::quantile(values, 0.25), q3 = base::quantile(values, 0.75);
    return {ratio(differences, n * n * mean), ratio(variance, mean),
            ratio(std::sqrt(variance), mean), ratio(q3 - q1, q3 + q1)};
}

}  // namespace dbench::arena
