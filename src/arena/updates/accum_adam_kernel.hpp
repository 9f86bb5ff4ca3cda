#pragma once
// The kernel body of AccumAdam and AccumAdamW (accum_adam.hpp).

#include "arena/grid/segment_grid.hpp"
#include "arena/updates/adam_rule.hpp"

namespace dbench::arena {

/// AccumAdam's update of one row, element by element; see SgdRow. `kLast` is true if the window
/// ends with this update.
template <class T, bool kDecays, bool kLast>
struct AccumAdamRow {
    static constexpr bool kNeedsPoint = kDecays;

    Elements<const T> slope;
    Elements<T> first, second, accumulated;
    AdamRule<T> rule;
    T part;

    template <class V>
    struct Read {
        V gradient, first, second, accumulated;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        using V = Value<T, Place>;
        return Read<V>{slope[c], first[c], second[c], accumulated[c]};
    }
    template <class Place, class V>
    DBENCH_INLINE V step(Place c, const Read<V>& from, V point) const {
        V g = from.gradient;
        if constexpr (kDecays) g += rule.coupled * point;
        const V mean = from.accumulated + part * g;
        V d = rule.step(rule.first(from.first, g), rule.second(from.second, g));
        if constexpr (kDecays) d += rule.decoupled * point;
        if constexpr (kLast) {
            first[c] = rule.first(from.first, mean);
            second[c] = rule.second(from.second, mean);
            accumulated[c] = V(T{0});
        } else {
            accumulated[c] = mean;
        }
        return d;
    }
};

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
        grid.subtract<T>(block, index, out, base, at, *this);
    }

    /// Calls use(row_of), where row_of(i) is the AccumAdamRow of row i in the columns of the piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const AccumAdam& s = *this;
        const AdamRule<T> here = rule.with_decay(decay[p.tensor]);
        with_flag(here.decays(), [&](auto decays) DBENCH_INLINE_LAMBDA {
            with_flag(ends_window, [&](auto last) DBENCH_INLINE_LAMBDA {
                using Row = AccumAdamRow<T, decltype(decays)::value, decltype(last)::value>;
                use([&](int64_t i) DBENCH_INLINE_LAMBDA {
                    return Row{s.gradient.row<T>(i) + p.begin,
                               s.first.row<T>(i) + p.begin,
                               s.second.row<T>(i) + p.begin,
                               s.accumulated.row<T>(i) + p.begin,
                               here,
                               s.part};
                });
            });
        });
    }
};

}  // namespace dbench::arena
