#pragma once
// Common parts of the tests of both optimizers: three steps whose results PyTorch 2.11 (float64)
// printed.

#include <algorithm>
#include <array>
#include <cmath>

#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"

namespace dbench::arena {

inline constexpr std::array<double, 4> kStart = {0.5, -1.25, 2.0, -0.75};
inline constexpr double kGradients[3][4] = {
    {0.1, -0.2, 0.3, 0.4}, {-0.5, 0.25, 0.125, -1.0}, {0.3, 0.6, -0.9, 0.05}};

/// Runs update(layout, x, g, t) for t = 0, 1, 2 from kStart on a layout of one tensor.
template <class Update>
std::array<double, 4> three_steps(DType type, const Update& update) {
    Layout layout;
    layout.add("x", {4}, TensorKind::weight);
    const Buffer x(type, 0, 1, layout.columns()), g(type, 0, 1, layout.columns());
    const auto put = [&](const Rows& rows, const double* values) {
        with_type(type, [&]<class T>() { std::copy_n(values, 4, rows.row<T>(0)); });
    };
    put(x.rows(), kStart.data());
    for (int t = 0; t < 3; ++t) {
        put(g.rows(), kGradients[t]);
        update(layout, x.rows(), g.rows(), t);
    }
    std::array<double, 4> result;
    for (int c = 0; c < 4; ++c) result[c] = element(x.rows(), 0, c);
    return result;
}

inline double largest_difference(const std::array<double, 4>& a, const std::array<double, 4>& b) {
    double largest = 0;
    for (size_t c = 0; c < 4; ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
    return largest;
}

/// Returns true if `squared` [rows * S] equals the squares of base - out up to the rounding of that
/// difference.
inline bool matches_difference(const Layout& layout, const Rows& base, const Rows& out,
                               const std::vector<double>& squared) {
    const size_t segments = layout.segments().size();
    for (int64_t i = 0; i < out.count; ++i) {
        for (size_t s = 0; s < segments; ++s) {
            double expected = 0;
            for (int64_t c = layout.segments()[s].begin; c < layout.segments()[s].end; ++c) {
                expected += std::pow(element(base, i, c) - element(out, i, c), 2);
            }
            const double value = squared[i * segments + s];
            if (!(std::abs(value - expected) <= 1e-4 * expected)) return false;
        }
    }
    return true;
}

}  // namespace dbench::arena
