#pragma once
// What the update kernels share: the walk over rows, segments and tiles.

#include <algorithm>
#include <span>
#include <type_traits>

#include "arena/lanes.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// Calls tile(row, begin, count, tensor, lanes) for pieces of at most kTile columns of every tensor
/// in `columns`; padding is left out. Where `squared` is not null, `lanes` collects the squares of
/// a segment, whose total goes to squared[row * S + segment]; else `lanes` is null.
template <class Tile>
void for_each_tile(const Layout& layout, int64_t rows, Columns columns, double* squared,
                   const Tile& tile) {
    const std::vector<Segment>& segments = layout.segments();
    const auto ends_before = [](int64_t column, const Segment& s) { return column < s.end; };
    const auto first =
        std::upper_bound(segments.begin(), segments.end(), columns.begin, ends_before);
    for (int64_t row = 0; row < rows; ++row) {
        for (auto s = first; s != segments.end() && s->begin < columns.end; ++s) {
            const int64_t begin = std::max(s->begin, columns.begin);
            const int64_t end = std::min(s->end, columns.end);
            // The sum over a part of a segment would not be the segment's.
            DBENCH_EXPECT(!squared || (begin == s->begin && end == s->end));
            Lanes lanes;
            for (int64_t at = begin; at < end; at += kTile) {
                tile(row, at, std::min(kTile, end - at), s->tensor, squared ? &lanes : nullptr);
            }
            if (squared) {
                squared[row * static_cast<int64_t>(segments.size()) + (s - segments.begin())] =
                    total(lanes);
            }
        }
    }
}

/// An update reads gradient and base, `at` where that is another row and decays, and so many rows
/// of its own state per row; it writes its result and so many of these.
inline void count_update(Rows base, Rows at, std::span<const double> decay, Columns columns,
                         int64_t state_read, int64_t state_written) {
    const bool decays = std::any_of(decay.begin(), decay.end(), [](double d) { return d != 0; });
    const int64_t more = decays && at.data != base.data ? 1 : 0;
    count_passes(base.type, columns, base.count * (2 + more + state_read),
                 base.count * (1 + state_written), Kernel::update);
}

/// out = base - step(c) for c in [0, count), count <= kTile; the steps' squares go to `lanes`.
template <class T, class Step>
DBENCH_INLINE void subtract(T* out, const T* base, int64_t count, Lanes* lanes, const Step& step) {
    if (!lanes) {
        DBENCH_INDEPENDENT
        for (int64_t c = 0; c < count; ++c) out[c] = base[c] - step(c);
        return;
    }
    T steps[kTile];
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) {
        steps[c] = step(c);
        out[c] = base[c] - steps[c];
    }
    add_squares(*lanes, count, [&steps](int64_t c) { return static_cast<double>(steps[c]); });
}

/// Calls work(std::true_type{}) or work(std::false_type{}): a flag that an inner loop need not
/// test.
template <class Work>
DBENCH_INLINE void with_flag(bool flag, const Work& work) {
    if (flag) {
        work(std::true_type{});
    } else {
        work(std::false_type{});
    }
}

}  // namespace dbench::arena
