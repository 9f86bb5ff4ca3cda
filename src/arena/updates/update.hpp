#pragma once  // Private to arena/updates.
// The parts that the update kernels share.

#include <algorithm>
#include <span>
#include <vector>

#include "arena/grid/launch.hpp"
#include "arena/grid/segment_grid.hpp"
#include "arena/sums/sum_plan.hpp"
#include "arena/traffic.hpp"
#include "arena/updates/update_and_mix_kernel.hpp"
#include "arena/updates/update_of_means_kernel.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// Counts the traffic of an update. It reads the gradient, the base, `at` if that is another row
/// and there is decay, and `state_read` rows of optimizer state per row. It writes the result and
/// `state_written` rows of state.
inline void count_update(Rows base, Rows at, std::span<const double> decay, Columns columns,
                         int64_t state_read, int64_t state_written) {
    const bool decays = std::any_of(decay.begin(), decay.end(), [](double d) { return d != 0; });
    const int64_t more = decays && at.data != base.data ? 1 : 0;
    count_passes(base.type, columns, base.count * (2 + more + state_read),
                 base.count * (1 + state_written), Kernel::update);
}

/// Returns the tile width (columns) of an update of means: the sources stay in the second-level
/// cache until all means of the tile are computed, and a tile is wide enough for sequential access
/// to the other rows.
constexpr int64_t update_width(int64_t sources, int64_t element_size) {
    constexpr int64_t kBytes = 512 * 1024;
    return std::clamp(kBytes / element_size / sources / 64 * 64, int64_t{64}, kTile);
}

/// Runs an update whose base are weighted means, see UpdateOfMeans.
template <class T, class Update>
void update_means(const Update& update, std::span<const std::vector<Term>> base) {
    const Rows out = update.out;
    const Columns columns = update.grid.columns;
    DBENCH_EXPECT(static_cast<int64_t>(base.size()) == out.count);
    const SumPlan<T> plan(base, out, SumForm::mean);
    DBENCH_EXPECT(!plan.in_place);
    int64_t others = 0;  // Sources that the update does not read anyway.
    for (const T* source : plan.distinct) {
        bool own = false;
        for (int64_t i = 0; i < out.count; ++i) own |= source == update.at.template row<T>(i);
        others += own ? 0 : 1;
    }
    count_passes(out.type, columns, others, 0, Kernel::mixing);
    if (columns.count() <= 0) return;
    const WeightedSums<T> means{
        .form = SumForm::mean,
        .store = choose_store(out, columns),
        .rows = plan.rows.data(),
        .weights = plan.weights.data(),
        .first = plan.first.data(),
        .distinct = plan.distinct.data(),
        .sources = plan.sources(),
        .out = out,
        .columns = columns,
        .width = update_width(plan.sources(), sizeof(T)),
        .in_packs = false,
    };
    on_host(UpdateOfMeans<T, Update>{update, means});
    if (means.store == SumStore::non_temporal) non_temporal_fence();
}

/// Compiled without clones: on the host only tests use it.
template <class T, class Update>
void on_host(const UpdateAndMix<T, Update>& body) {
    run_blocks(body);
}

/// Launches an update of x together with the mixing of its result, or of x. `state` are the rows of
/// the optimizer that are read and written.
template <class T, class Update>
void launch_and_mix(Queue& queue, const char* name, const Layout& layout, const Update& update,
                    std::initializer_list<Rows> state, const Mixing& mixing) {
    const SegmentGrid& grid = update.grid;
    const bool measured = grid.squared || mixing.squared_before;
    const bool adapts = mixing.order == MixOrder::adapt_then_combine;
    const int64_t widest = mixing_width(update.out.type, grid.rows, mixing.order, measured);
    DBENCH_EXPECT(widest > 0 && mixing.means.rows() == grid.rows);
    DBENCH_EXPECT(adapts || update.out.data != update.base.data);
    if (grid.count == 0) return;
    int64_t longest = 0;  // Length of the longest segment.
    for (int64_t s = grid.first; s < grid.first + grid.count && longest < kBlock; ++s) {
        const Segment& segment = layout.segments()[static_cast<size_t>(s)];
        longest = std::max(longest, segment.end - segment.begin);
    }
    const int64_t width = std::min(widest, (longest + kLanes - 1) / kLanes * kLanes);
    const SegmentGrid before(layout, grid.rows, grid.columns, mixing.squared_before, queue);
    const UpdateAndMix<T, Update> body{
        .update = update,
        .order = mixing.order,
        .terms = mixing.means.template terms<typename UpdateAndMix<T, Update>::Weight>().on(queue),
        .first = mixing.means.first.on(queue),
        .blends = mixing.means.blends.on(queue),
        .all_blends = static_cast<int64_t>(mixing.means.blends.size()),
        .squared_before = mixing.squared_before,
        .width = width,
        .parts = measured ? 1 : (longest + width - 1) / width,
    };
    launch(queue, name, body, [&] {
        std::vector<Access> all = list_accesses(grid, {update.base, update.gradient}, {update.out});
        for (const Rows& rows : state) {
            if (rows.count > 0) all.push_back(writes(rows, grid.columns));
        }
        const std::vector<Access> sums = list_accesses(before, {}, {});
        all.insert(all.end(), sums.begin(), sums.end());
        return all;
    });
}

}  // namespace dbench::arena
