#pragma once
// The kernel bodies of row_factors.hpp: a factor for each row from its norm (a block per row), and
// the multiplication of rows by their factors.

#include <cmath>

#include "arena/grid/plain.hpp"
#include "arena/layout.hpp"
#include "arena/sums/row_factors.hpp"

namespace dbench::arena {

struct NormFactors {
    const Segment* segments;  // All segments of the layout, in memory that the queue can read.
    int64_t all, tensors;     // Number of segments and of tensors in the layout.
    int64_t rows;
    const double* squares;  // [rows, all]
    FactorRule rule;
    double number;
    double* out;  // [rows]

    constexpr int64_t blocks() const { return rows; }
    constexpr int64_t scratch_bytes() const {
        return scratch_for<double>(tensors) + scratch_for<int64_t>(tensors);
    }
    static constexpr int64_t kMany = 64;  // A tensor with so many segments is added by a block.

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t row) const {
        const NormFactors s = *this;
        const double* const from = squares + row * all;
        double* const sums = block.template scratch<double>(tensors);
        int64_t* const begins = block.template scratch<int64_t>(tensors);
        block.for_each(tensors, [=](int64_t t) DBENCH_INLINE_LAMBDA {
            sums[t] = 0;
            begins[t] = -1;
        });
        // The iteration of a tensor's first segment adds its segments. All threads together read
        // those of a tensor with very many segments.
        block.for_each(all, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            const int tensor = s.segments[k].tensor;
            if (k > 0 && s.segments[k - 1].tensor == tensor) return;
            if (k + kMany <= s.all && s.segments[k + kMany - 1].tensor == tensor) {
                begins[tensor] = k;
                return;
            }
            double sum = 0;
            for (int64_t j = k; j < s.all && s.segments[j].tensor == tensor; ++j) sum += from[j];
            sums[tensor] = sum;
        });
        for (int64_t t = 0; t < tensors; ++t) {
            const int64_t begin = begins[t];
            if (begin < 0) continue;
            int64_t end = begin + kMany, after = all;  // The end is in [end, after].
            while (end < after) {
                const int64_t middle = (end + after) / 2;
                if (segments[middle].tensor == t) {
                    end = middle + 1;
                } else {
                    after = middle;
                }
            }
            block.add_in_order(end - begin, from + begin,
                               [=](double sum) DBENCH_INLINE_LAMBDA { sums[t] = sum; });
        }
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
            double sum = 0;
            for (int64_t t = 0; t < s.tensors; ++t) sum += sums[t];
            s.out[row] = s.factor(std::sqrt(sum));
        });
    }

    DBENCH_INLINE double factor(double norm) const {
        if (rule == FactorRule::inverse) return 1 / (norm + number);
        return std::isfinite(norm) && norm > number ? number / norm : 1;
    }
};

template <class T>
struct ScaleEach {
    ColumnGrid grid;
    Rows rows;
    const double* factors;  // Per row.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Columns part = grid.part(index);
        const int64_t row = grid.row(index);
        if (factors[row] == 1) return;
        T* const start = rows.row<T>(row) + part.begin;
        const Elements<T> x(start);
        const T by = static_cast<T>(factors[row]);
        grid.for_elements<T>(
            block, part, begins_pack(start),
            [=](auto c) DBENCH_INLINE_LAMBDA { return Value<T, decltype(c)>(x[c]); },
            [=](auto c, auto value) DBENCH_INLINE_LAMBDA { x[c] = value * by; });
    }
};

}  // namespace dbench::arena
