#pragma once
// The grid of kernels that go over tensors: a block for each segment of each row.

#include <initializer_list>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/grid/block.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A segment, or what of it lies in a range of columns, in one row.
struct Piece {
    int64_t row, segment;
    int tensor;
    int64_t begin, count;  ///< columns
};

struct SegmentGrid {
    const Segment* segments;  ///< all of the layout, where the queue reads them
    int64_t all;              ///< how many that are
    int64_t first, count;     ///< those with elements in `columns`
    Columns columns;
    int64_t rows;
    double* squared;  ///< [rows, all], sums of squares of whole segments; null where not wanted

    SegmentGrid(const Layout& layout, int64_t rows, Columns columns, double* squared, Queue* queue);

    constexpr int64_t blocks() const { return rows * count; }
    constexpr int64_t scratch_bytes() const { return squared ? scratch_for<Lanes>(1) : 0; }
    constexpr Piece piece(int64_t index) const {
        const int64_t row = index / count, segment = first + index % count;
        const Segment& s = segments[segment];
        const int64_t begin = std::max(s.begin, columns.begin);
        return {row, segment, s.tensor, begin, std::min(s.end, columns.end) - begin};
    }

    /// A block's lanes of so many rows, all 0.
    template <class Block>
    static DBENCH_INLINE Lanes* lanes(Block& block, int64_t rows = 1) {
        Lanes* const lanes = block.template scratch<Lanes>(rows);
        block.for_each(rows * kLanes, [=](int64_t j) DBENCH_INLINE_LAMBDA {
            lanes[j / kLanes].sum[j % kLanes] = 0;
        });
        return lanes;
    }
    template <class Block>
    DBENCH_INLINE void store(Block& block, int64_t row, int64_t segment, const Lanes* lanes) const {
        double* const to = squared + row * all + segment;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *to = total(*lanes); });
    }

    /// out = base - step(c) for the elements c of `piece`, where `out` and `base` begin; the steps'
    /// squares are summed where wanted.
    template <class Block, class T, class Step>
    DBENCH_INLINE void subtract(Block& block, const Piece& piece, T* out, const T* base,
                                const Step& step) const {
        Lanes* const sums = squared ? lanes(block) : nullptr;
        subtract(block, piece.count, sums, out, base, step);
        if (sums) store(block, piece.row, piece.segment, sums);
    }
    /// The same of the steps of a row's rule (SgdRow) at `at`.
    template <class Block, class T, class Row>
    DBENCH_INLINE void subtract(Block& block, const Piece& piece, T* out, const T* base,
                                const T* at, const Row& row) const {
        Lanes* const sums = squared ? lanes(block) : nullptr;
        subtract(block, piece.count, sums, out, base, at, row);
        if (sums) store(block, piece.row, piece.segment, sums);
    }
    /// The same of `count` elements; the squares come to `sums`, if there are any.
    template <class Block, class T, class Step>
    static DBENCH_INLINE void subtract(Block& block, int64_t count, Lanes* sums, T* out,
                                       const T* base, const Step& step) {
        if (!sums) {
            block.for_each(count,
                           [=](int64_t c) DBENCH_INLINE_LAMBDA { out[c] = base[c] - step(c); });
            return;
        }
        block.add_squares(*sums, count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const T d = step(c);
            out[c] = base[c] - d;
            return d;
        });
    }
    template <class Block, class T, class Row>
    static DBENCH_INLINE void subtract(Block& block, int64_t count, Lanes* sums, T* out,
                                       const T* base, const T* at, const Row& row) {
        const Elements<const T> from(base), point(at);
        const Elements<T> to(out);
        const auto read = [=](auto c) DBENCH_INLINE_LAMBDA {
            return Taken<T, decltype(c), decltype(row.read(c))>{from[c], point[c], row.read(c)};
        };
        const auto work = [=](auto c, const auto& taken) DBENCH_INLINE_LAMBDA {
            const auto d = row.step(c, taken.rest, taken.point);
            to[c] = taken.base - d;
            return d;
        };
        if (sums) return block.template add_squares<T>(*sums, count, read, work);
        block.template for_packs<T>(
            1, count, [=](int64_t) DBENCH_INLINE_LAMBDA { return read; },
            [=](int64_t) DBENCH_INLINE_LAMBDA { return work; });
    }

private:
    template <class T, class Place, class Rest>
    struct Taken {
        Value<T, Place> base, point;
        Rest rest;  // what the rule reads beside them
    };
};

/// What a kernel over tensors touches: the rows that it only reads, those that it writes, and the
/// sums of squares.
inline std::vector<Access> touched(const SegmentGrid& grid, std::initializer_list<Rows> read,
                                   std::initializer_list<Rows> written) {
    std::vector<Access> accesses;
    for (const Rows& rows : read) accesses.push_back(reads(rows, grid.columns));
    for (const Rows& rows : written) {
        if (rows.count > 0) accesses.push_back(writes(rows, grid.columns));
    }
    for (int64_t row = 0; grid.squared && row < grid.rows; ++row) {
        accesses.push_back(writes(grid.squared + row * grid.all + grid.first,
                                  grid.count * static_cast<int64_t>(sizeof(double))));
    }
    return accesses;
}

}  // namespace dbench::arena
