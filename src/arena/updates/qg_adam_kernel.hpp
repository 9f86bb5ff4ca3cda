#pragma once
// The kernel bodies of QG-Adam (Lin et al. 2021): the local update, and the moments of the averaged
// change.

#include <cmath>

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

/// QG-Adam's update of one row, element by element; see SgdRow.
template <class T>
struct QgAdamRow {
    static constexpr bool kNeedsPoint = false;

    Elements<const T> slope, first, second;
    T step_size, root_correction, eps, beta1, beta2, one_minus_beta2;

    template <class V>
    struct Read {
        V gradient, first, second;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        return Read<Value<T, Place>>{slope[c], first[c], second[c]};
    }
    template <class Place, class V>
    DBENCH_INLINE V step(Place, const Read<V>& from, V) const {
        using std::sqrt;
        const V m = beta1 * from.first + from.gradient;
        const V v = beta2 * from.second + one_minus_beta2 * from.gradient * from.gradient;
        return step_size * m / (sqrt(v) / root_correction + eps);
    }
};

template <class T>
struct QgAdam {
    SegmentGrid grid;
    Rows out, base, gradient, first, second;
    T step_size, root_correction, eps, beta1, beta2, one_minus_beta2;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        grid.subtract<T>(block, index, out, base, base, *this);
    }

    /// Calls use(row_of), where row_of(i) is the QgAdamRow of row i in the columns of the piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const QgAdam& s = *this;
        use([&](int64_t i) DBENCH_INLINE_LAMBDA {
            return QgAdamRow<T>{s.gradient.row<const T>(i) + p.begin,
                                s.first.row<const T>(i) + p.begin,
                                s.second.row<const T>(i) + p.begin,
                                s.step_size,
                                s.root_correction,
                                s.eps,
                                s.beta1,
                                s.beta2,
                                s.one_minus_beta2};
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
        const Elements<const T> old(before.row<T>(p.row) + p.begin);
        const Elements<const T> now(after.row<T>(p.row) + p.begin);
        const Elements<T> firsts(first.row<T>(p.row) + p.begin);
        const Elements<T> seconds(second.row<T>(p.row) + p.begin);
        const T scale = static_cast<T>(factor[p.row]);
        const QgAdamMoments s = *this;
        block.template for_packs<T>(
            1, p.count,
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c) DBENCH_INLINE_LAMBDA {
                    return Read<Value<T, decltype(c)>>{old[c], now[c], firsts[c], seconds[c]};
                };
            },
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c, const auto& from) DBENCH_INLINE_LAMBDA {
                    const auto d = scale * (from.before - from.after);
                    firsts[c] = s.beta1 * from.first + s.one_minus_beta1 * d;
                    seconds[c] = s.beta2 * from.second + s.one_minus_beta2 * d * d;
                };
            });
    }

private:
    template <class V>
    struct Read {
        V before, after, first, second;
    };
};

}  // namespace dbench::arena
