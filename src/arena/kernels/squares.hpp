#pragma once
// Sums of squares of every segment of every row.

#include "arena/kernels/segment_grid.hpp"

namespace dbench::arena {

template <class T>
struct Squares {
    SegmentGrid grid;
    Rows rows;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        Lanes* const lanes = SegmentGrid::lanes(block);
        block.add_squares_of(*lanes, p.count, rows.row<const T>(p.row) + p.begin);
        grid.store(block, p.row, p.segment, lanes);
    }
};

}  // namespace dbench::arena
