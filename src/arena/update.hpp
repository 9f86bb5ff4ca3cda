#pragma once
// What the update kernels share.

#include <algorithm>
#include <span>
#include <vector>

#include "arena/kernels/launch.hpp"
#include "arena/kernels/segment_grid.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// An update reads gradient and base, `at` where that is another row and decays, and so many rows
/// of its own state per row; it writes its result and so many of these.
inline void count_update(Rows base, Rows at, std::span<const double> decay, Columns columns,
                         int64_t state_read, int64_t state_written) {
    const bool decays = std::any_of(decay.begin(), decay.end(), [](double d) { return d != 0; });
    const int64_t more = decays && at.data != base.data ? 1 : 0;
    count_passes(base.type, columns, base.count * (2 + more + state_read),
                 base.count * (1 + state_written), Kernel::update);
}

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
