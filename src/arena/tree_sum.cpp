#include <algorithm>
#include <cstring>
#include <memory>

#include "arena/loops.hpp"
#include "arena/traffic.hpp"
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

/// The mean of two means, `share` of it the second one: equal ones stay what they are.
template <class T>
DBENCH_INLINE void blend_body(const T* a, const T* b, T share, T* out, int64_t count) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) out[c] = a[c] + share * (b[c] - a[c]);
}
DBENCH_CLONES void blend(const float* a, const float* b, float share, float* out, int64_t count) {
    blend_body(a, b, share, out, count);
}
DBENCH_CLONES void blend(const double* a, const double* b, double share, double* out,
                         int64_t count) {
    blend_body(a, b, share, out, count);
}

enum class Form { sum, mean };

template <class T>
void follow(const TreeStep& step, Form form, const T* left, const T* right, T* out, int64_t count) {
    if (form == Form::sum) return add(left, right, out, count);
    const auto all = static_cast<double>(step.left_count + step.right_count);
    blend(left, right, static_cast<T>(static_cast<double>(step.right_count) / all), out, count);
}

template <class T>
void run(std::span<const Summand> summands, const TreePlan& plan, T* out, Columns columns,
         Form form) {
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
        if (plan.steps.empty()) std::memmove(out + begin, row(0) + begin, here * sizeof(T));
        for (const TreeStep& step : plan.steps) {
            const bool last = &step == &plan.steps.back();
            follow(step, form, operand(step.left), operand(step.right),
                   last ? out + begin : scratch.get() + step.slot * width, here);
        }
    }
}

void run(DType type, int64_t n, std::span<const Summand> summands, void* out, Columns columns,
         Form form) {
    DBENCH_EXPECT(!summands.empty());
    const Interval root{summands.front().interval.begin, summands.back().interval.end};
    DBENCH_EXPECT(maximal_subtrees(n, root) == std::vector<Interval>{root});
    static_cast<void>(n);
    count_passes(type, columns, static_cast<int64_t>(summands.size()), 1, Kernel::mean);
    std::vector<Interval> leaves;
    for (const Summand& summand : summands) leaves.push_back(summand.interval);
    const TreePlan plan = plan_tree(leaves, root);
    with_type(type,
              [&]<class T>() { run<T>(summands, plan, static_cast<T*>(out), columns, form); });
}

}  // namespace

void tree_sum(DType type, int64_t n, std::span<const Summand> summands, void* out,
              Columns columns) {
    run(type, n, summands, out, columns, Form::sum);
}

void tree_mean(DType type, int64_t n, std::span<const Summand> summands, void* out,
               Columns columns) {
    run(type, n, summands, out, columns, Form::mean);
}

}  // namespace dbench::arena
