#include <algorithm>

#include "arena/grid/launch.hpp"
#include "arena/sums/tree_moments_kernel.hpp"
#include "arena/traffic.hpp"
#include "arena/tree.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const TreeMoments<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const TreeMoments<double>& body) { run_blocks(body); }

namespace {

template <class T>
struct MomentsPlan {
    TreePlan tree;
    TreeGroups groups;  // Used only on a queue.
    std::vector<const T*> rows;
    std::vector<const double*> m2;  // Empty for single replicas.
};

/// The tile width of a kernel, and the number of passes over a segment (on the host 0).
struct Tiles {
    int64_t width, passes;
};
/// Divides the plan into groups for a device. Uses one pass if the scratch memory of all lanes is
/// available, and the widest tiles with which four blocks fit on a multiprocessor of compute
/// capability 9.0. Narrow tiles get several groups at a time, so that all threads have work.
template <class T>
Tiles plan_for_device(MomentsPlan<T>& plan) {
    constexpr int64_t kBeside = 54 * 1024, kPasses = 4;
    const auto count = static_cast<int64_t>(plan.tree.steps.size());
    for (const int64_t passes : {int64_t{1}, kPasses}) {
        for (int64_t columns = kThreads;; columns /= 2) {
            plan.groups = in_groups(plan.tree, kThreads / columns);
            const int64_t width = columns * passes;
            const int64_t bytes =
                TreeMoments<T>::scratch_bytes(count, plan.groups.places, width, passes);
            const bool narrowest = width == kLanes;
            if (bytes <= (narrowest ? kMaxScratch : kBeside)) return {width, passes};
            if (narrowest) break;
        }
    }
    return {kLanes, kPasses};  // The launch reports that the scratch memory does not suffice.
}

/// Orders rows and second moments as the groups use them.
template <class T>
void order_by_use(MomentsPlan<T>& plan) {
    const auto ordered = [&](const auto& given) {
        auto all = given;
        for (size_t k = 0; k < all.size(); ++k) {
            all[k] = given[static_cast<size_t>(plan.groups.leaves[k])];
        }
        return all;
    };
    plan.rows = ordered(plan.rows);
    plan.m2 = ordered(plan.m2);
}

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
    Tiles tiles{tile_width(std::ssize(plan->rows), sizeof(T)), 0};
    if (!queue.immediate()) {
        tiles = plan_for_device(*plan);
        order_by_use(*plan);
    }
    const SegmentGrid grid(layout, 1, columns, nullptr, queue);
    const TreeMoments<T> body{
        .grid = grid,
        .rows = readable_on(queue, plan, plan->rows),
        .leaf_m2 = plan->m2.empty() ? nullptr : readable_on(queue, plan, plan->m2),
        .steps = readable_on(queue, plan, plan->tree.steps),
        .count = count,
        .scratch_rows = plan->tree.scratch_rows,
        .mean = mean,
        .m2 = m2,
        .width = tiles.width,
        .placed = readable_on(queue, plan, plan->groups.steps),
        .first = readable_on(queue, plan, plan->groups.first),
        .batches = readable_on(queue, plan, plan->groups.batches),
        .all_batches = std::ssize(plan->groups.batches),
        .kept = plan->groups.kept,
        .places = plan->groups.places,
        .passes = tiles.passes,
        .in_packs = std::all_of(plan->rows.begin(), plan->rows.end(),
                                [&](const T* row) { return begins_pack(row + columns.begin); }),
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
