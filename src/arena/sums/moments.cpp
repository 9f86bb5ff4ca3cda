#include "arena/grid/launch.hpp"
#include "arena/sums/tree_moments_kernel.hpp"
#include "arena/traffic.hpp"
#include "arena/tree.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const TreeMoments<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const TreeMoments<double>& body) { run_blocks(body); }

namespace {

/// The tile width of a device's kernel, and the number of passes over a segment.
struct DeviceTiles {
    int64_t width, passes;
};
/// Uses one pass if the scratch memory of all lanes is available, and the widest tiles with which
/// two blocks fit on a multiprocessor.
DeviceTiles device_tiles(int64_t steps, int64_t slots) {
    constexpr int64_t kBeside = 72 * 1024, kPasses = 4;
    for (const int64_t passes : {int64_t{1}, kPasses}) {
        const auto bytes = [&](int64_t width) {
            return TreeMoments<double>::scratch_bytes(steps, slots, width, passes);
        };
        int64_t width = 512;
        while (width > kLanes && bytes(width) > kBeside) width /= 2;
        if (bytes(width) <= kMaxScratch || passes == kPasses) return {width, passes};
    }
    return {};
}

template <class T>
struct MomentsPlan {
    TreePlan tree;
    TreeLevels levels;  // Used only on a queue.
    std::vector<const T*> rows;
    std::vector<const double*> m2;  // Empty for single replicas.
};

/// Combines the moments of the leaves into those of one node.
template <class T>
void combine(const Layout& layout, std::span<const Interval> leaves, Interval root,
             std::vector<const T*> rows, std::vector<const double*> leaf_m2, Columns columns,
             double* mean, double* m2, Queue& queue) {
    const auto plan = std::make_shared<MomentsPlan<T>>();
    plan->tree = plan_tree(leaves, root);
    plan->rows = std::move(rows);
    plan->m2 = std::move(leaf_m2);
    const auto count = static_cast<int64_t>(plan->tree.steps.size());
    DeviceTiles tiles{tile_width(std::ssize(plan->rows), sizeof(T)), 1};
    const bool immediate = queue.immediate();
    if (!immediate) {
        plan->levels = by_level(plan->tree);
        tiles = device_tiles(count, plan->levels.slots);
    }
    const SegmentGrid grid(layout, 1, columns, nullptr, queue);
    const TreeMoments<T> body{
        .grid = grid,
        .rows = readable_on(queue, plan, plan->rows),
        .leaf_m2 = plan->m2.empty() ? nullptr : readable_on(queue, plan, plan->m2),
        .steps = readable_on(queue, plan, immediate ? plan->tree.steps : plan->levels.steps),
        .count = count,
        .slots = immediate ? plan->tree.slots : plan->levels.slots,
        .mean = mean,
        .m2 = m2,
        .width = tiles.width,
        .first = readable_on(queue, plan, plan->levels.first),
        .levels = std::max<int64_t>(std::ssize(plan->levels.first) - 1, 0),
        .passes = tiles.passes,
    };
    const auto accesses = [&] {
        const auto part = [&](const auto* row, int64_t begin, int64_t count) {
            return reads(row + begin, count * static_cast<int64_t>(sizeof(*row)));
        };
        std::vector<Access> all;
        for (const T* row : plan->rows) all.push_back(part(row, columns.begin, columns.count()));
        for (const double* of : plan->m2) all.push_back(part(of, grid.first, grid.count));
        all.push_back(part(mean, columns.begin, columns.count()));
        all.push_back(part(m2, grid.first, grid.count));
        for (size_t k = all.size() - 2; k < all.size(); ++k) all[k].writes = true;
        return all;
    };
    launch(queue, "tree_moments", body, accesses);
}

}  // namespace

void tree_moments(const Layout& layout, int64_t n, Rows rows, std::span<const Interval> nodes,
                  Columns columns, double* mean, double* m2, Queue& queue) {
    DBENCH_EXPECT(rows.first >= 0 && rows.first + rows.count <= n);
    static_cast<void>(n);
    const size_t segments = layout.segments().size();
    for (size_t k = 0; k < nodes.size(); ++k) {
        DBENCH_EXPECT(maximal_subtrees(n, nodes[k]) == std::vector<Interval>{nodes[k]});
        DBENCH_EXPECT(nodes[k].begin >= rows.first && nodes[k].end <= rows.first + rows.count);
        std::vector<Interval> leaves;
        for (int64_t i = nodes[k].begin; i < nodes[k].end; ++i) leaves.push_back({i, i + 1});
        count_passes(rows.type, columns, nodes[k].end - nodes[k].begin, 0, Kernel::statistics);
        count_passes(DType::float64, columns, 0, 1, Kernel::statistics);
        with_type(rows.type, [&]<class T>() {
            std::vector<const T*> replicas;
            for (const Interval leaf : leaves) {
                replicas.push_back(rows.row<T>(leaf.begin - rows.first));
            }
            combine<T>(layout, leaves, nodes[k], std::move(replicas), {}, columns,
                       mean + static_cast<int64_t>(k) * layout.columns(), m2 + k * segments, queue);
        });
    }
}

void combine_moments(const Layout& layout, int64_t n, std::span<const Moments> parts,
                     Columns columns, double* mean, double* m2, Queue& queue) {
    std::vector<Interval> leaves;
    std::vector<const double*> means, seconds;
    for (const Moments& part : parts) {
        leaves.push_back(part.interval);
        means.push_back(part.mean);
        seconds.push_back(part.m2);
    }
    count_passes(DType::float64, columns, static_cast<int64_t>(parts.size()), 1,
                 Kernel::statistics);
    combine<double>(layout, leaves, {0, n}, std::move(means), std::move(seconds), columns, mean, m2,
                    queue);
}

}  // namespace dbench::arena
