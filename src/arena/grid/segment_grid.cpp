#include "arena/grid/segment_grid.hpp"

#include "base/error.hpp"

namespace dbench::arena {

SegmentGrid::SegmentGrid(const Layout& layout, int64_t rows, Columns columns, double* squared,
                         Queue& queue)
    : segments(layout.segment_array().on(queue)),
      all(static_cast<int64_t>(layout.segments().size())),
      columns(columns),
      rows(rows),
      squared(squared),
      in_block(squared && !queue.immediate() ? kThreads / kLanes : 1) {
    const Segment* const begin = layout.segments().data();
    const Segment* const end = begin + all;
    const auto ends_before = [](int64_t column, const Segment& s) { return column < s.end; };
    const auto begins_before = [](const Segment& s, int64_t column) { return s.begin < column; };
    const Segment* const from = std::upper_bound(begin, end, columns.begin, ends_before);
    const Segment* const to = std::lower_bound(from, end, columns.end, begins_before);
    first = from - begin;
    count = to - from;
    // A partial segment would give a wrong sum of squares.
    DBENCH_EXPECT(!squared || count == 0 ||
                  (from->begin >= columns.begin && to[-1].end <= columns.end));
}

}  // namespace dbench::arena
