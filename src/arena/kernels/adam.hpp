#pragma once
// Adam and AdamW as torch.optim computes them (Kingma and Ba 2015; Loshchilov and Hutter 2019),
// with the largest second moments so far where that is asked for (AMSGrad: Reddi, Kale and Kumar
// 2018).

#include "arena/adam_rule.hpp"
#include "arena/kernels/segment_grid.hpp"

namespace dbench::arena {

template <class T>
struct Adam {
    SegmentGrid grid;
    Rows out, base, at, gradient, first, second;
    Rows largest;  // no rows: the second moments themselves
    AdamRule<T> rule;
    const double* decay;  // per tensor

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
        T* const most = largest.count > 0 ? largest.row<T>(p.row) + p.begin : nullptr;
        const AdamRule<T> here = rule.with_decay(decay[p.tensor]);
        with_flag(most != nullptr, [&](auto remembers) DBENCH_INLINE_LAMBDA {
            with_flag(here.decays(), [&](auto decays) DBENCH_INLINE_LAMBDA {
                grid.subtract(block, p, x, from, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    T g = slope[c];
                    if constexpr (decltype(decays)::value) g += here.coupled * point[c];
                    const T m = here.first(firsts[c], g);
                    T v = here.second(seconds[c], g);
                    firsts[c] = m;
                    seconds[c] = v;
                    if constexpr (decltype(remembers)::value) {
                        v = most[c] > v ? most[c] : v;
                        most[c] = v;
                    }
                    T d = here.step(m, v);
                    if constexpr (decltype(decays)::value) d += here.decoupled * point[c];
                    return d;
                });
            });
        });
    }
};

}  // namespace dbench::arena
