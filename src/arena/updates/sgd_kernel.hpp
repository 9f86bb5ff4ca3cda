#pragma once
// The kernel body of SGD as torch.optim.SGD computes it, with dampening 0.

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

/// SGD's update of one row, element by element. read(c) loads the inputs; step(c, ...) computes lr
/// d and writes the velocity.
template <class T, bool kMoves, bool kAhead, bool kDecays>
struct SgdRow {
    static constexpr bool kNeedsPoint = kDecays;

    Elements<const T> slope;
    Elements<T> velocity;
    T rate, mu, shrink;

    template <class V>
    struct Read {
        V gradient, velocity;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        using V = Value<T, Place>;
        return Read<V>{slope[c], kMoves ? velocity[c] : V{}};
    }
    /// The gradient was computed at `point`.
    template <class Place, class V>
    DBENCH_INLINE V step(Place c, const Read<V>& from, V point) const {
        V g = from.gradient;
        if constexpr (kDecays) g += shrink * point;
        if constexpr (kMoves) {
            const V now = mu * from.velocity + g;
            velocity[c] = now;
            g = kAhead ? g + mu * now : now;
        }
        return rate * g;
    }
};

template <class T>
struct Sgd {
    SegmentGrid grid;
    Rows out, base, at, gradient;
    Rows velocity;  // Has no rows without momentum.
    T lr, momentum;
    bool nesterov;
    const double* decay;  // Per tensor.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        grid.subtract<T>(block, index, out, base, at, *this);
    }

    /// Calls use(row_of), where row_of(i) is the SgdRow of row i in the columns of the piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const Rows gradients = gradient, velocities = velocity;
        const int64_t begin = p.begin;
        const T rate = lr, mu = momentum, shrink = static_cast<T>(decay[p.tensor]);
        const auto with = [&]<bool kMoves, bool kAhead, bool kDecays>() DBENCH_INLINE_LAMBDA {
            using Row = SgdRow<T, kMoves, kAhead, kDecays>;
            use([=](int64_t i) DBENCH_INLINE_LAMBDA {
                return Row{gradients.row<T>(i) + begin,
                           kMoves ? velocities.row<T>(i) + begin : nullptr, rate, mu, shrink};
            });
        };
        with_flag(shrink != 0, [&](auto decays) DBENCH_INLINE_LAMBDA {
            constexpr bool kDecays = decltype(decays)::value;
            if (velocity.count == 0) return with.template operator()<false, false, kDecays>();
            with_flag(nesterov, [&](auto ahead) DBENCH_INLINE_LAMBDA {
                with.template operator()<true, decltype(ahead)::value, kDecays>();
            });
        });
    }
};

}  // namespace dbench::arena
