#pragma once
// SGD as torch.optim.SGD computes it, with dampening 0.

#include "arena/kernels/segment_grid.hpp"

namespace dbench::arena {

template <class T>
struct Sgd {
    SegmentGrid grid;
    Rows out, base, at, gradient;
    Rows velocity;  // no rows without momentum
    T lr, momentum;
    bool nesterov;
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
        T* const v = velocity.count > 0 ? velocity.row<T>(p.row) + p.begin : nullptr;
        const T rate = lr, mu = momentum, shrink = static_cast<T>(decay[p.tensor]);
        with_flag(v != nullptr, [&](auto moves) DBENCH_INLINE_LAMBDA {
            with_flag(nesterov, [&](auto ahead) DBENCH_INLINE_LAMBDA {
                with_flag(shrink != 0, [&](auto decays) DBENCH_INLINE_LAMBDA {
                    grid.subtract(block, p, x, from, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                        T g = slope[c];
                        if constexpr (decltype(decays)::value) g += shrink * point[c];
                        if constexpr (decltype(moves)::value) {
                            const T now = mu * v[c] + g;
                            v[c] = now;
                            g = decltype(ahead)::value ? g + mu * now : now;
                        }
                        return rate * g;
                    });
                });
            });
        });
    }
};

}  // namespace dbench::arena
