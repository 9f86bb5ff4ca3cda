#pragma once
// The kernel bodies of adaptive.hpp.

#include <cmath>

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

template <class T>
struct Dadam {
    SegmentGrid grid;
    Rows out, base, gradient, first, second, long_term;
    T step_size, share, eps, beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, one_minus_beta3;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const T* const slope = gradient.row<T>(p.row) + p.begin;
        T* const firsts = first.row<T>(p.row) + p.begin;
        T* const seconds = second.row<T>(p.row) + p.begin;
        T* const sizes = long_term.row<T>(p.row) + p.begin;
        const Dadam s = *this;
        grid.subtract(block, p, out.row<T>(p.row) + p.begin, base.row<T>(p.row) + p.begin,
                      [=](int64_t c) DBENCH_INLINE_LAMBDA {
                          const T g = slope[c];
                          const T m = s.beta1 * firsts[c] + s.one_minus_beta1 * g;
                          const T v = s.beta2 * seconds[c] + s.one_minus_beta2 * g * g;
                          const T now = s.share * v, before = sizes[c];
                          const T size =
                              s.beta3 * before + s.one_minus_beta3 * (before > now ? before : now);
                          firsts[c] = m;
                          seconds[c] = v;
                          sizes[c] = size;
                          return s.step_size * m / (std::sqrt(size) + s.eps);
                      });
    }
};

template <class T>
struct LargestMoments {
    SegmentGrid grid;
    Rows gradient, first, second, largest;
    T beta1, one_minus_beta1, beta2, one_minus_beta2, eps;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        T* const slope = gradient.row<T>(p.row) + p.begin;
        T* const firsts = first.row<T>(p.row) + p.begin;
        T* const seconds = second.row<T>(p.row) + p.begin;
        T* const sizes = largest.row<T>(p.row) + p.begin;
        const LargestMoments s = *this;
        block.for_each(p.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const T g = slope[c];
            const T v = s.beta2 * seconds[c] + s.one_minus_beta2 * g * g;
            const T before = sizes[c], now = v - s.eps;
            const T most = before > now ? before : now;
            firsts[c] = s.beta1 * firsts[c] + s.one_minus_beta1 * g;
            seconds[c] = v;
            sizes[c] = most;
            slope[c] = most - before;
        });
    }
};

template <class T>
struct DescentBySize {
    SegmentGrid grid;
    Rows out, base, direction, size;
    T lr, eps;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const T* const slope = direction.row<T>(p.row) + p.begin;
        const T* const sizes = size.row<T>(p.row) + p.begin;
        const T rate = lr, least = eps;
        grid.subtract(block, p, out.row<T>(p.row) + p.begin, base.row<T>(p.row) + p.begin,
                      [=](int64_t c) DBENCH_INLINE_LAMBDA {
                          const T here = sizes[c] > 0 ? sizes[c] : T{0};
                          return rate * slope[c] / std::sqrt(here + least);
                      });
    }
};

template <class T>
struct AdaptiveApproach {
    SegmentGrid grid;
    Rows x, from, to, squared;
    T gamma, beta, rest, share;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        T* const point = x.row<T>(p.row) + p.begin;
        T* const sizes = squared.row<T>(p.row) + p.begin;
        const T* const here = from.row<T>(p.row) + p.begin;
        const T* const there = to.row<T>(p.row) + p.begin;
        const AdaptiveApproach s = *this;
        block.for_each(p.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const T r = there[c] - here[c];
            const T v = s.beta * sizes[c] + s.rest * r * r;
            const T step = s.gamma / (std::sqrt(s.share * v) + T(1e-8));
            sizes[c] = v;
            point[c] += (step < 1 ? step : T{1}) * r;
        });
    }
};

}  // namespace dbench::arena
