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
    double* squared;   ///< [rows, all]: sums of squares of whole segments; null if not requested.
    int64_t in_block;  ///< Pieces per block: several if a thread of a device processes one lane.

    /// Throws if `squared` is not null and `columns` cuts a segment. `rows` is the number of rows.
    SegmentGrid(const Layout& layout, int64_t rows, Columns columns, double* squared, Queue& queue);

    /// Returns this grid for a kernel whose blocks process one piece each.
    SegmentGrid with_a_block_per_piece() const {
        SegmentGrid grid = *this;
        grid.in_block = 1;
        return grid;
    }
    constexpr int64_t pieces() const { return rows * count; }
    constexpr int64_t blocks() const { return (pieces() + in_block - 1) / in_block; }
    constexpr int64_t scratch_bytes() const { return squared ? scratch_for<Lanes>(in_block) : 0; }
    /// Returns piece `index`: the columns of one segment in one row.
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

    /// Computes out = base - step for the pieces of block `index`, and the sums of the steps'
    /// squares if requested. update.with_rows(piece, use) calls use(row_of), where row_of(i) is the
    /// optimizer's rule for row i in the columns of the piece (for example SgdRow). The gradient
    /// was computed at the point `at`, which a rule with kNeedsPoint reads.
    template <class T, class Block, class Update>
    DBENCH_INLINE void subtract(Block& block, int64_t index, const Rows& out, const Rows& base,
                                const Rows& at, const Update& update) const {
        if constexpr (Block::kManyThreads) {
            if (squared) {
                add_squares_of(
                    block, index, [&](const Piece& p, const auto& add) DBENCH_INLINE_LAMBDA {
                        update.with_rows(p, [&](const auto& row_of) DBENCH_INLINE_LAMBDA {
                            with_step(out.row<T>(p.row) + p.begin, base.row<T>(p.row) + p.begin,
                                      at.row<T>(p.row) + p.begin, row_of(p.row), add);
                        });
                    });
                return;
            }
        }
        const Piece p = piece(index);
        update.with_rows(p, [&](const auto& row_of) DBENCH_INLINE_LAMBDA {
            Lanes* const sums = squared ? lanes(block) : nullptr;
            subtract(block, p.count, sums, out.row<T>(p.row) + p.begin,
                     base.row<T>(p.row) + p.begin, at.row<T>(p.row) + p.begin, row_of(p.row));
            if (sums) store(block, p.row, p.segment, sums);
        });
    }
    /// Computes the sums over the pieces of block `index`, for blocks with many threads. One thread
    /// processes one lane of a piece: for_piece(piece, add) calls add(read, work), which adds the
    /// squares of work(c, read(c)).
    template <class Summand = Square, class Block, class ForPiece>
    DBENCH_INLINE void add_squares_of(Block& block, int64_t index,
                                      const ForPiece& for_piece) const {
        const SegmentGrid grid = *this;
        const int64_t first_piece = index * in_block, left = pieces() - first_piece;
        const int64_t here = left < in_block ? left : in_block;
        Lanes* const sums = block.template scratch<Lanes>(in_block);
        block.for_rows(here, kLanes, [&](int64_t g) DBENCH_INLINE_LAMBDA {
            return [&, g](int64_t lane) DBENCH_INLINE_LAMBDA {
                const Piece p = grid.piece(first_piece + g);
                double sum = 0;
                for_piece(p, [&](const auto& read, const auto& work) DBENCH_INLINE_LAMBDA {
                    walk_lane(static_cast<int>(lane), static_cast<int>(p.count), read,
                              [&](int64_t c, const auto& taken) DBENCH_INLINE_LAMBDA {
                                  sum += Summand::of(static_cast<double>(work(c, taken)));
                              });
                });
                sums[g].sum[lane] = sum;
            };
        });
        block.for_each(here, [=](int64_t g) DBENCH_INLINE_LAMBDA {
            const Piece p = grid.piece(first_piece + g);
            grid.squared[p.row * grid.all + p.segment] = total(sums[g]);
        });
    }
    /// Computes out = base - step for `count` elements. Adds the steps' squares to `sums` if it is
    /// not null. The pointers point to the first element.
    template <class Block, class T, class Row>
    static DBENCH_INLINE void subtract(Block& block, int64_t count, Lanes* sums, T* out,
                                       const T* base, const T* at, const Row& row) {
        with_step(out, base, at, row, [&](const auto& read, const auto& work) DBENCH_INLINE_LAMBDA {
            if (sums) return block.template add_squares<T>(*sums, count, read, work);
            block.template for_packs<T>(
                1, count, [=](int64_t) DBENCH_INLINE_LAMBDA { return read; },
                [=](int64_t) DBENCH_INLINE_LAMBDA { return work; });
        });
    }

private:
    /// Calls use(read, work), where work(c, read(c)) computes out = base - step for element or pack
    /// c and returns the step.
    template <class T, class Row, class Use>
    static DBENCH_INLINE void with_step(T* out, const T* base, const T* at, const Row& row,
                                        const Use& use) {
        const Elements<const T> from(base), point(at);
        const Elements<T> to(out);
        use(
            [=](auto c) DBENCH_INLINE_LAMBDA {
                using V = Value<T, decltype(c)>;
                return Inputs<T, decltype(c), decltype(row.read(c))>{
                    from[c], Row::kNeedsPoint ? V(point[c]) : V{}, row.read(c)};
            },
            [=](auto c, const auto& taken) DBENCH_INLINE_LAMBDA {
                const auto d = row.step(c, taken.rest, taken.point);
                to[c] = taken.base - d;
                return d;
            });
    }

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
