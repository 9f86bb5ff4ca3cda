#pragma once
// Adam and AdamW as torch.optim computes them (Kingma and Ba 2015; Loshchilov and Hutter 2019),
// with the largest second moments so far where that is asked for (AMSGrad: Reddi, Kale and Kumar
// 2018).

#include "arena/adam_rule.hpp"
#include "arena/kernels/segment_grid.hpp"

namespace dbench::arena {

/// As SgdRow.
template <class T, bool kRemembers, bool kDecays>
struct AdamRow {
    const T* slope;
    T *first, *second, *largest;
    AdamRule<T> rule;

    struct Read {
        T gradient, first, second, largest;
    };
    DBENCH_INLINE Read read(int64_t c) const {
        return {slope[c], first[c], second[c], kRemembers ? largest[c] : T{}};
    }
    DBENCH_INLINE T step(int64_t c, const Read& from, T point) const {
        T g = from.gradient;
        if constexpr (kDecays) g += rule.coupled * point;
        const T m = rule.first(from.first, g);
        T v = rule.second(from.second, g);
        first[c] = m;
        second[c] = v;
        if constexpr (kRemembers) {
            v = from.largest > v ? from.largest : v;
            largest[c] = v;
        }
        T d = rule.step(m, v);
        if constexpr (kDecays) d += rule.decoupled * point;
        return d;
    }
};

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
        const T* const point = at.row<T>(p.row) + p.begin;
        with_rows(p, [&](const auto& row_of) DBENCH_INLINE_LAMBDA {
            const auto row = row_of(p.row);
            grid.subtract(block, p, out.row<T>(p.row) + p.begin, base.row<T>(p.row) + p.begin,
                          [=](int64_t c)
                              DBENCH_INLINE_LAMBDA { return row.step(c, row.read(c), point[c]); });
        });
    }

    /// As Sgd's.
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
