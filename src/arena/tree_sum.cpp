#include <algorithm>
#include <memory>

#include "arena/loops.hpp"
#include "arena/tree.hpp"
#include "arena/tree_plan.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

template <class T>
DBENCH_INLINE void add_body(const T* a, const T* b, T* out, int64_t count) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) out[c] = a[c] + b[c];
}
DBENCH_CLONES void add(const float* a, const float* b, float* out, int64_t count) {
    add_body(a, b, out, count);
}
DBENCH_CLONES void add(const double* a, const double* b, double* out, int64_t count) {
    add_body(a, b, out, count);
}

template <class T>
DBENCH_INLINE void scale_body(const T* a, T factor, T* out, int64_t count) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) out[c] = a[c] * factor;
}
DBENCH_CLONES void scaled(const float* a, float factor, float* out, int64_t count) {
    scale_body(a, factor, out, count);
}
DBENCH_CLONES void scaled(const double* a, double factor, double* out, int64_t count) {
    scale_body(a, factor, out, count);
}

template <class T>
void run(std::span<const Summand> summands, const TreePlan& plan, T* out, Columns columns,
         T factor) {
    const auto row = [&](int k) { return static_cast<const T*>(summands[k].row); };
    const int64_t width = tile_width(static_cast<int64_t>(summands.size()), sizeof(T));
    const auto scratch = std::make_unique_for_overwrite<T[]>(plan.slots * width);
    for (int64_t begin = columns.begin; begin < columns.end; begin += width) {
        const int64_t here = std::min(width, columns.end - begin);
        const int64_t next = begin + here, ahead = std::min(width, columns.end - next);
        const auto operand = [&](Operand from) {
            if (!from.leaf) return static_cast<const T*>(scratch.get() + from.index * width);
            prefetch(row(from.index) + next, ahead);
            return row(from.index) + begin;
        };
        for (const TreeStep& step : plan.steps) {
            add(operand(step.left), operand(step.right), scratch.get() + step.slot * width, here);
        }
        scaled(plan.steps.empty() ? row(0) + begin : scratch.get(), factor, out + begin, here);
    }
}

}  // namespace

void tree_sum(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
              double factor) {
    DBENCH_EXPECT(!summands.empty());
    const Interval root{summands.front().interval.begin, summands.back().interval.end};
    DBENCH_EXPECT(maximal_subtrees(n, root) == std::vector<Interval>{root});
    static_cast<void>(n);
    std::vector<Interval> leaves;
    for (const Summand& summand : summands) leaves.push_back(summand.interval);
    const TreePlan plan = plan_tree(leaves, root);
    with_type(type, [&]<class T>() {
        run<T>(summands, plan, static_cast<T*>(out), columns, static_cast<T>(factor));
    });
}

}  // namespace dbench::arena
