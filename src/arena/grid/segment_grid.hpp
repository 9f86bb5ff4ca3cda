#pragma once
// The grid of kernels that work on tensors: a block for each segment of each row.

#include <initializer_list>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/grid/block.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The part of a segment that is in a range of columns, in one row.
struct Piece {
    int64_t row, segment;
    int tensor;
    int64_t begin, count;  ///< `begin` is a column; `count` is in columns.
};

/// The arguments that kernels over segments share, and the parts of their bodies that compute
/// updates.
struct SegmentGrid {
    const Segment* segments;  ///< All segments of the layout, in memory that the queue can read.
    int64_t all;              ///< Number of segments in the layout.
    int64_t first, count;     ///< The segments with elements in `columns`.
    Columns columns;
    int64_t rows;
    double* squared;  ///< [rows, all]: sums of squares of whole segments; null if not requested.

    /// Throws if `squared` is not null and `columns` cuts a segment. `rows` is the number of rows.
    SegmentGrid(const Layout& layout, int64_t rows, Columns columns, double* squared, Queue& queue);

    constexpr int64_t blocks() const { return rows * count; }
    constexpr int64_t scratch_bytes() const { return squared ? scratch_for<Lanes>(1) : 0; }
    /// Returns the part of a segment that block `index` processes.
    constexpr Piece piece(int64_t index) const {
        const int64_t row = index / count, segment = first + index % count;
        const Segment& s = segments[segment];
        const int64_t begin = std::max(s.begin, columns.begin);
        return {row, segment, s.tensor, begin, std::min(s.end, columns.end) - begin};
    }

    /// Returns the block's lanes for `rows` rows, set to 0.
    template <class Block>
    static DBENCH_INLINE Lanes* lanes(Block& block, int64_t rows = 1) {
        Lanes* const lanes = block.template scratch<Lanes>(rows);
        block.for_each(rows * kLanes, [=](int64_t j) DBENCH_INLINE_LAMBDA {
            lanes[j / kLanes].sum[j % kLanes] = 0;
        });
        return lanes;
    }
    /// Stores the total of `lanes` as the sum of squares of a row's segment.
    template <class Block>
    DBENCH_INLINE void store(Block& block, int64_t row, int64_t segment, const Lanes* lanes) const {
        double* const to = squared + row * all + segment;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *to = total(*lanes); });
    }

    /// Computes out = base - step(c) for the elements c of `piece`. `out` and `base` point to the
    /// piece's first element. Stores the sum of the steps' squares if requested.
    template <class Block, class T, class Step>
    DBENCH_INLINE void subtract(Block& block, const Piece& piece, T* out, const T* base,
                                const Step& step) const {
        Lanes* const sums = squared ? lanes(block) : nullptr;
        subtract(block, piece.count, sums, out, base, step);
        if (sums) store(block, piece.row, piece.segment, sums);
    }
    /// Computes out = base - step, with the step of an optimizer's rule for a row (for example
    /// SgdRow) at `at`.
    template <class Block, class T, class Row>
    DBENCH_INLINE void subtract(Block& block, const Piece& piece, T* out, const T* base,
                                const T* at, const Row& row) const {
        Lanes* const sums = squared ? lanes(block) : nullptr;
        subtract(block, piece.count, sums, out, base, at, row);
        if (sums) store(block, piece.row, piece.segment, sums);
    }
    /// Computes out = base - step(c) for `count` elements. Adds the squares to `sums` if it is not
    /// null.
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
            return Inputs<T, decltype(c), decltype(row.read(c))>{from[c], point[c], row.read(c)};
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
    struct Inputs {
        Value<T, Place> base, point;
        Rest rest;  // Further values that the rule reads.
    };
};

/// Lists the memory that a kernel over segments accesses: the rows that it only reads, those that
/// it writes, and the sums of squares.
inline std::vector<Access> list_accesses(const SegmentGrid& grid, std::initializer_list<Rows> read,
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
