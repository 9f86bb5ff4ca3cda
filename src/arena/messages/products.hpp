#pragma once  // Private to arena/messages.
// Products of matrices with vectors inside a block, in float64.

#include "arena/grid/block.hpp"

namespace dbench::arena {

/// Returns the sum of x[c] y[c] by lanes, in all threads. `lanes` must differ from those of the
/// previous call: a thread may still read them.
template <class Block, class A, class B>
DBENCH_INLINE double dot(Block& block, Lanes* lanes, int64_t count, const A* x, const B* y) {
    block.for_each(kLanes, [=](int64_t j) DBENCH_INLINE_LAMBDA { lanes->sum[j] = 0; });
    block.add_products(*lanes, count, x, y);
    return total(*lanes);
}

/// Computes sums[c] += x[r columns + c] v[r] for c in [0, count) and kRows of r, in their order.
template <int kRows, class Block, class T, class V>
DBENCH_INLINE void add_rows(Block& block, const T* x, int64_t columns, const V* v, int64_t count,
                            double* sums) {
    double share[kRows];
    for (int r = 0; r < kRows; ++r) share[r] = static_cast<double>(v[r]);
    block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
        double sum = sums[c];
        DBENCH_UNROLL
        for (int r = 0; r < kRows; ++r) {
            sum += static_cast<double>(x[r * columns + c]) * share[r];
        }
        sums[c] = sum;
    });
}

/// Computes sums[c] = sum over all rows r of x[r columns + c] v[r].
template <class Block, class T, class V>
DBENCH_INLINE void sum_rows(Block& block, const T* x, int64_t rows, int64_t columns, const V* v,
                            int64_t count, double* sums) {
    constexpr int kRowsPerLoop = 8;
    block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA { sums[c] = 0; });
    int64_t r = 0;
    for (; r + kRowsPerLoop <= rows; r += kRowsPerLoop) {
        add_rows<kRowsPerLoop>(block, x + r * columns, columns, v + r, count, sums);
    }
    for (; r < rows; ++r) add_rows<1>(block, x + r * columns, columns, v + r, count, sums);
}

}  // namespace dbench::arena
