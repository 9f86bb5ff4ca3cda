#pragma once
// The kernel body of Adam and AdamW as torch.optim computes them (Kingma and Ba 2015; Loshchilov
// and Hutter 2019), optionally with the largest second moments so far (AMSGrad: Reddi, Kale and
// Kumar 2018).

#include "arena/grid/segment_grid.hpp"
#include "arena/updates/adam_rule.hpp"

namespace dbench::arena {

/// Adam's update of one row, element by element; see SgdRow.
template <class T, bool kRemembers, bool kDecays>
struct AdamRow {
    static constexpr bool kNeedsPoint = kDecays;

    Elements<const T> slope;
    Elements<T> first, second, largest;
    AdamRule<T> rule;

    template <class V>
    struct Read {
        V gradient, first, second, largest;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        using V = Value<T, Place>;
        return Read<V>{slope[c], first[c], second[c], kRemembers ? largest[c] : V{}};
    }
    template <class Place, class V>
    DBENCH_INLINE V step(Place c, const Read<V>& from, V point) const {
        V g = from.gradient;
        if constexpr (kDecays) g += rule.coupled * point;
        const V m = rule.first(from.first, g);
        V v = rule.second(from.second, g);
        first[c] = m;
        second[c] = v;
        if constexpr (kRemembers) {
            v = larger(from.largest, v);
            largest[c] = v;
        }
        V d = rule.step(m, v);
        if constexpr (kDecays) d += rule.decoupled * point;
        return d;
    }
};

template <class T>
struct Adam {
    SegmentGrid grid;
    Rows out, base, at, gradient, first, second;
    Rows largest;  // Has no rows without AMSGrad.
    AdamRule<T> rule;
    const double* decay;  // Per tensor.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        grid.subtract<T>(block, index, out, base, at, *this);
    }

    /// Calls use(row_of), where row_of(i) is the AdamRow of row i in the columns of the piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const Rows gradients = gradient, means = first, squares = second, maxima = largest;
        const int64_t begin = p.begin;
        const AdamRule<T> here = rule.with_decay(decay[p.tensor]);
        with_flag(largest.count > 0, [&](auto remembers) DBENCH_INLINE_LAMBDA {
            with_flag(here.decays(), [&](auto decays) DBENCH_INLINE_LAMBDA {
                constexpr bool kRemembers = decltype(remembers)::value;
                using Row = AdamRow<T, kRemembers, decltype(decays)::value>;
                use([=](int64_t i) DBENCH_INLINE_LAMBDA {
                    return Row{gradients.row<T>(i) + begin, means.row<T>(i) + begin,
                               squares.row<T>(i) + begin,
                               kRemembers ? maxima.row<T>(i) + begin : nullptr, here};
                });
            });
        });
    }
};

}  // namespace dbench::arena
