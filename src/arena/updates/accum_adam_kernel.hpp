#pragma once
// The kernel body of AccumAdam and AccumAdamW (accum_adam.hpp).

#include "arena/grid/segment_grid.hpp"
#include "arena/updates/adam_rule.hpp"

namespace dbench::arena {

template <class T>
struct AccumAdam {
    SegmentGrid grid;
    Rows out, base, at, gradient, first, second, accumulated;
    AdamRule<T> rule;
    const double* decay;  // Per tensor.
    T part;               // 1 / window.
    bool ends_window;     // True if the window ends with this update.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        T* const x = out.row<T>(p.row) + p.begin;
        const T* const from = base.row<T>(p.row) + p.begin;
        const T* const point = at.row<T>(p.row) + p.begin;
        const T* const slope = gradient.row<T>(p.row) + p.begin;
        T* const firsts = first.row<T>(p.row) + p.begin;
        T* const seconds = second.row<T>(p.row) + p.begin;
        T* const sums = accumulated.row<T>(p.row) + p.begin;
        const AdamRule<T> here = rule.with_decay(decay[p.tensor]);
        const T share = part;
        with_flag(here.decays(), [&](auto decays) DBENCH_INLINE_LAMBDA {
            with_flag(ends_window, [&](auto last) DBENCH_INLINE_LAMBDA {
                grid.subtract(block, p, x, from, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    T g = slope[c];
                    if constexpr (decltype(decays)::value) g += here.coupled * point[c];
                    const T old_first = firsts[c], old_second = seconds[c];
                    const T mean = sums[c] + share * g;
                    T d = here.step(here.first(old_first, g), here.second(old_second, g));
                    if constexpr (decltype(decays)::value) d += here.decoupled * point[c];
                    if constexpr (decltype(last)::value) {
                        firsts[c] = here.first(old_first, mean);
                        seconds[c] = here.second(old_second, mean);
                        sums[c] = 0;
                    } else {
                        sums[c] = mean;
                    }
                    return d;
                });
            });
        });
    }
};

}  // namespace dbench::arena
