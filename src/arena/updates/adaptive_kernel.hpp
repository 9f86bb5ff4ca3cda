#pragma once
// The kernel bodies of adaptive.hpp.

#include <cmath>

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

/// Dadam's update of one row, element by element; see SgdRow.
template <class T>
struct DadamRow {
    static constexpr bool kNeedsPoint = false;

    Elements<const T> slope;
    Elements<T> first, second, long_term;
    T step_size, share, eps, beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, one_minus_beta3;

    template <class V>
    struct Read {
        V gradient, first, second, size;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        return Read<Value<T, Place>>{slope[c], first[c], second[c], long_term[c]};
    }
    template <class Place, class V>
    DBENCH_INLINE V step(Place c, const Read<V>& from, V) const {
        using std::sqrt;
        const V g = from.gradient;
        const V m = beta1 * from.first + one_minus_beta1 * g;
        const V v = beta2 * from.second + one_minus_beta2 * g * g;
        const V size = beta3 * from.size + one_minus_beta3 * larger(from.size, share * v);
        first[c] = m;
        second[c] = v;
        long_term[c] = size;
        return step_size * m / (sqrt(size) + eps);
    }
};

template <class T>
struct Dadam {
    SegmentGrid grid;
    Rows out, base, gradient, first, second, long_term;
    T step_size, share, eps, beta1, one_minus_beta1, beta2, one_minus_beta2, beta3, one_minus_beta3;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        grid.subtract<T>(block, index, out, base, base, *this);
    }

    /// Calls use(row_of), where row_of(i) is the DadamRow of row i in the columns of the piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const Dadam& s = *this;
        use([&](int64_t i) DBENCH_INLINE_LAMBDA {
            return DadamRow<T>{s.gradient.row<const T>(i) + p.begin,
                               s.first.row<T>(i) + p.begin,
                               s.second.row<T>(i) + p.begin,
                               s.long_term.row<T>(i) + p.begin,
                               s.step_size,
                               s.share,
                               s.eps,
                               s.beta1,
                               s.one_minus_beta1,
                               s.beta2,
                               s.one_minus_beta2,
                               s.beta3,
                               s.one_minus_beta3};
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
        const Elements<T> slope(gradient.row<T>(p.row) + p.begin);
        const Elements<T> firsts(first.row<T>(p.row) + p.begin);
        const Elements<T> seconds(second.row<T>(p.row) + p.begin);
        const Elements<T> sizes(largest.row<T>(p.row) + p.begin);
        const LargestMoments s = *this;
        block.template for_packs<T>(
            1, p.count,
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c) DBENCH_INLINE_LAMBDA {
                    return Read<Value<T, decltype(c)>>{slope[c], firsts[c], seconds[c], sizes[c]};
                };
            },
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c, const auto& from) DBENCH_INLINE_LAMBDA {
                    using V = Value<T, decltype(c)>;
                    const V g = from.gradient;
                    const V v = s.beta2 * from.second + s.one_minus_beta2 * g * g;
                    const V most = larger(from.size, v - s.eps);
                    firsts[c] = s.beta1 * from.first + s.one_minus_beta1 * g;
                    seconds[c] = v;
                    sizes[c] = most;
                    slope[c] = most - from.size;
                };
            });
    }

private:
    template <class V>
    struct Read {
        V gradient, first, second, size;
    };
};

/// The descent of one row, element by element; see SgdRow.
template <class T>
struct DescentBySizeRow {
    static constexpr bool kNeedsPoint = false;

    Elements<const T> direction, size;
    T lr, eps;

    template <class V>
    struct Read {
        V direction, size;
    };
    template <class Place>
    DBENCH_INLINE auto read(Place c) const {
        return Read<Value<T, Place>>{direction[c], size[c]};
    }
    template <class Place, class V>
    DBENCH_INLINE V step(Place, const Read<V>& from, V) const {
        using std::sqrt;
        return lr * from.direction / sqrt(larger(from.size, V(T{0})) + eps);
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
        grid.subtract<T>(block, index, out, base, base, *this);
    }

    /// Calls use(row_of), where row_of(i) is the DescentBySizeRow of row i in the columns of the
    /// piece.
    template <class Use>
    DBENCH_INLINE void with_rows(const Piece& p, const Use& use) const {
        const DescentBySize& s = *this;
        use([&](int64_t i) DBENCH_INLINE_LAMBDA {
            return DescentBySizeRow<T>{s.direction.row<const T>(i) + p.begin,
                                       s.size.row<const T>(i) + p.begin, s.lr, s.eps};
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
        const Elements<T> point(x.row<T>(p.row) + p.begin);
        const Elements<T> sizes(squared.row<T>(p.row) + p.begin);
        const Elements<const T> here(from.row<T>(p.row) + p.begin);
        const Elements<const T> there(to.row<T>(p.row) + p.begin);
        const AdaptiveApproach s = *this;
        block.template for_packs<T>(
            1, p.count,
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c) DBENCH_INLINE_LAMBDA {
                    return Read<Value<T, decltype(c)>>{here[c], there[c], sizes[c], point[c]};
                };
            },
            [=](int64_t) DBENCH_INLINE_LAMBDA {
                return [=](auto c, const auto& taken) DBENCH_INLINE_LAMBDA {
                    using std::sqrt;
                    using V = Value<T, decltype(c)>;
                    const V r = taken.to - taken.from;
                    const V v = s.beta * taken.size + s.rest * r * r;
                    const V step = s.gamma / (sqrt(s.share * v) + T(1e-8));
                    sizes[c] = v;
                    point[c] = taken.x + smaller(step, V(T{1})) * r;
                };
            });
    }

private:
    template <class V>
    struct Read {
        V from, to, size, x;
    };
};

}  // namespace dbench::arena
