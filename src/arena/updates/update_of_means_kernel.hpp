#pragma once  // Private to arena/updates.
// The kernel body of an update whose base are weighted means (sgd_update_of_means,
// adam_update_of_means). A block computes W x, one tile of a row at a time, and the update reads it
// from the cache, so that W x is never stored in memory.

#include "arena/grid/segment_grid.hpp"
#include "arena/sums/weighted_sums_kernel.hpp"

namespace dbench::arena {

template <class T, class Update>
struct UpdateOfMeans {
    Update update;          // The update of all rows, to `out`; its base is not read.
    WeightedSums<T> means;  // One mean per row, its base; must not be stored in_place.

    constexpr int64_t rows() const { return update.grid.rows; }
    constexpr int64_t blocks() const { return update.grid.count; }
    constexpr bool non_temporal() const { return means.store == SumStore::non_temporal; }
    constexpr int64_t scratch_bytes() const {
        return (non_temporal() ? scratch_for<T>(means.width) : 0) +
               (update.grid.squared ? scratch_for<Lanes>(rows()) : 0);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece segment = update.grid.piece(index);
        T* const kept = non_temporal() ? block.template scratch<T>(means.width) : nullptr;
        Lanes* const sums = update.grid.squared ? SegmentGrid::lanes(block, rows()) : nullptr;
        for (int64_t at = 0; at < segment.count; at += means.width) {
            Piece tile = segment;
            tile.begin += at;
            tile.count = std::min(means.width, segment.count - at);
            const int64_t next = tile.begin + tile.count;
            const int64_t ahead = std::min(means.width, means.columns.end - next);
            for (int64_t i = 0; i < rows(); ++i) {
                T* const target = update.out.template row<T>(i) + tile.begin;
                T* const result = kept ? kept : target;
                means.prefetch(block, i, next, ahead);
                means.template add<SumForm::mean>(block, i, tile.begin, tile.count, result);
                subtract(block, tile, i, sums, result);
                if (kept) block.copy_non_temporal(tile.count, kept, target);
            }
        }
        for (int64_t i = 0; sums && i < rows(); ++i) {
            update.grid.store(block, i, segment.segment, sums + i);
        }
    }

private:
    /// Subtracts the update from the tile of row i in `result`.
    template <class Block>
    DBENCH_INLINE void subtract(Block& block, const Piece& tile, int64_t i, Lanes* sums,
                                T* result) const {
        const T* const point = update.at.template row<T>(i) + tile.begin;
        update.with_rows(tile, [&](const auto& row_of) DBENCH_INLINE_LAMBDA {
            SegmentGrid::subtract(block, tile.count, sums ? sums + i : nullptr, result,
                                  static_cast<const T*>(result), point, row_of(i));
        });
    }
};

}  // namespace dbench::arena
