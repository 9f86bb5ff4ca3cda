#pragma once
// The kernel bodies of QG-Adam (Lin et al. 2021): the local update, and the moments of the averaged
// change.

#include <cmath>

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

template <class T>
struct QgAdam {
    SegmentGrid grid;
    Rows out, base, gradient, first, second;
    T step_size, root_correction, eps, beta1, beta2, one_minus_beta2;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const T* const slope = gradient.row<T>(p.row) + p.begin;
        const T* const firsts = first.row<T>(p.row) + p.begin;
        const T* const seconds = second.row<T>(p.row) + p.begin;
        const QgAdam s = *this;
        grid.subtract(block, p, out.row<T>(p.row) + p.begin, base.row<T>(p.row) + p.begin,
                      [=](int64_t c) DBENCH_INLINE_LAMBDA {
                          const T g = slope[c];
                          const T m = s.beta1 * firsts[c] + g;
                          const T v = s.beta2 * seconds[c] + s.one_minus_beta2 * g * g;
                          return s.step_size * m / (std::sqrt(v) / s.root_correction + s.eps);
                      });
    }
};

template <class T>
struct QgAdamMoments {
    SegmentGrid grid;
    Rows before, after, first, second;
    const double* factor;  // Per row.
    T beta1, one_minus_beta1, beta2, one_minus_beta2;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const T* const old = before.row<T>(p.row) + p.begin;
        const T* const now = after.row<T>(p.row) + p.begin;
        T* const firsts = first.row<T>(p.row) + p.begin;
        T* const seconds = second.row<T>(p.row) + p.begin;
        const T scale = static_cast<T>(factor[p.row]);
        const QgAdamMoments s = *this;
        block.for_each(p.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const T d = scale * (old[c] - now[c]);
            firsts[c] = s.beta1 * firsts[c] + s.one_minus_beta1 * d;
            seconds[c] = s.beta2 * seconds[c] + s.one_minus_beta2 * d * d;
        });
    }
};

}  // namespace dbench::arena
