#pragma once
// The kernel body of sums over the elements of every segment of every row: of squares or of
// magnitudes.

#include "arena/grid/segment_grid.hpp"

namespace dbench::arena {

template <class T, class Summand>
struct SegmentSums {
    SegmentGrid grid;
    Rows rows;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return grid.scratch_bytes(); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        if constexpr (Block::kManyThreads) {
            grid.template add_squares_of<Summand>(
                block, index, [&](const Piece& p, const auto& add) DBENCH_INLINE_LAMBDA {
                    const T* const x = rows.row<const T>(p.row) + p.begin;
                    add([=](int64_t c) DBENCH_INLINE_LAMBDA { return x[c]; },
                        [](int64_t, T value) DBENCH_INLINE_LAMBDA { return value; });
                });
        } else {
            const Piece p = grid.piece(index);
            Lanes* const lanes = SegmentGrid::lanes(block);
            block.template add_up_of<Summand>(*lanes, p.count, rows.row<const T>(p.row) + p.begin);
            grid.store(block, p.row, p.segment, lanes);
        }
    }
};

template <class T>
using Squares = SegmentSums<T, Square>;
template <class T>
using Magnitudes = SegmentSums<T, Magnitude>;

}  // namespace dbench::arena
