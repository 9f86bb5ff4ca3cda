#include "arena/device/read_only_array.hpp"
#include "arena/grid/launch.hpp"
#include "arena/sums/tree_sum_kernel.hpp"
#include "arena/traffic.hpp"
#include "arena/tree.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const TreeSum<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const TreeSum<double>& body) { run_blocks(body); }

namespace {

/// Width of a tile on a device: one pack per thread.
template <class T>
constexpr int64_t kDeviceWidth = kThreads * 16 / int64_t{sizeof(T)};

template <class T>
struct TreeSumPlan {
    std::vector<const T*> rows;
    TreePlan tree;
};

template <class T>
void add(std::span<const Summand> summands, TreePlan tree, void* out, Columns columns,
         TreeForm form, Queue& queue) {
    const auto plan = std::make_shared<TreeSumPlan<T>>();
    plan->tree = std::move(tree);
    for (const Summand& summand : summands) {
        plan->rows.push_back(static_cast<const T*>(summand.row));
    }
    T* const target = static_cast<T*>(out);
    const TreeSum<T> body{
        .form = form,
        .rows = readable_on(queue, plan, plan->rows),
        .steps = readable_on(queue, plan, plan->tree.steps),
        .count = static_cast<int64_t>(plan->tree.steps.size()),
        .scratch_rows = plan->tree.scratch_rows,
        .out = target,
        .columns = columns,
        .width = queue.immediate() ? tile_width(static_cast<int64_t>(summands.size()), sizeof(T))
                                   : kDeviceWidth<T>,
        .in_packs = begins_pack(target + columns.begin) &&
                    std::all_of(plan->rows.begin(), plan->rows.end(),
                                [&](const T* row) { return begins_pack(row + columns.begin); }),
    };
    const auto accesses = [&] {
        const int64_t bytes = columns.count() * static_cast<int64_t>(sizeof(T));
        std::vector<Access> all = {writes(body.out + columns.begin, bytes)};
        for (const T* row : plan->rows) all.push_back(reads(row + columns.begin, bytes));
        return all;
    };
    launch(queue, "tree_sum", body, accesses);
}

void add(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
         TreeForm form, Queue& queue) {
    DBENCH_EXPECT(!summands.empty());
    const Interval root{summands.front().interval.begin, summands.back().interval.end};
    DBENCH_EXPECT(maximal_subtrees(n, root) == std::vector<Interval>{root});
    static_cast<void>(n);
    count_passes(type, columns, static_cast<int64_t>(summands.size()), 1, Kernel::mean);
    std::vector<Interval> leaves;
    for (const Summand& summand : summands) leaves.push_back(summand.interval);
    TreePlan tree = plan_tree(leaves, root);
    if (columns.count() <= 0) return;
    with_type(type,
              [&]<class T>() { add<T>(summands, std::move(tree), out, columns, form, queue); });
}

}  // namespace

void tree_sum(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
              Queue& queue) {
    add(type, n, summands, out, columns, TreeForm::sum, queue);
}

void tree_mean(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
               Queue& queue) {
    add(type, n, summands, out, columns, TreeForm::mean, queue);
}

}  // namespace dbench::arena
