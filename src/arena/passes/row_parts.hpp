#pragma once
// Arrays from anywhere in memory into columns of rows, as many as there are in one launch: how
// gradients come from where backward leaves them, and how a pass gets weights in another order.

#include <cstdint>
#include <span>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// `count` numbers of each row for its columns from `begin` on.
struct RowPart {
    const void* from;  ///< of the first row; null: zeros
    int64_t stride;    ///< between rows, in elements
    int64_t begin, count;
    /// Matrices [columns, lines] one after another that become [lines, columns]; 0: as they are.
    int32_t lines = 0, columns = 0;
    int64_t apart = 0;  ///< how far rows are from each other in `to`; 0: as they are
};

/// What stands in `to` is replaced, or added to; all is of its type. Launched on `queue` it reads
/// what accesses() of the launch around it say: this one says only what it writes.
void fill_parts(Rows to, std::span<const RowPart> parts, bool adds, Queue* queue = nullptr);

}  // namespace dbench::arena
