// Mean and second moments over replicas, combined along the tree. For parts A and B of a and b
// replicas, with delta = mean_B - mean_A (Chan, Golub, LeVeque 1983, equations 2.1):
//   mean = mean_A + delta b / (a + b),   M2 = M2_A + M2_B + |delta|^2 a b / (a + b).
// Identical replicas have delta = 0 at every node, so M2 exactly 0.

#include <algorithm>
#include <memory>

#include "arena/lanes.hpp"
#include "arena/traffic.hpp"
#include "arena/tree.hpp"
#include "arena/tree_plan.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

/// Adds the squares of b - a to `lanes`; `mean` may be a or b. Elements go through local arrays in
/// groups of kLanes, for the compiler takes a loop whose arrays may overlap one by one.
template <class A, class B>
DBENCH_INLINE void combine_body(const A* a, const B* b, double share, double* mean, int64_t count,
                                Lanes& lanes) {
    double sum[kLanes];
    for (int j = 0; j < kLanes; ++j) sum[j] = lanes.sum[j];
    int64_t c = 0;
    for (; c + kLanes <= count; c += kLanes) {
        double left[kLanes], delta[kLanes];
        for (int j = 0; j < kLanes; ++j) left[j] = a[c + j];
        for (int j = 0; j < kLanes; ++j) delta[j] = b[c + j] - left[j];
        for (int j = 0; j < kLanes; ++j) sum[j] += delta[j] * delta[j];
        for (int j = 0; j < kLanes; ++j) mean[c + j] = left[j] + delta[j] * share;
    }
    for (int j = 0; j < kLanes; ++j) lanes.sum[j] = sum[j];
    for (; c < count; ++c) {
        const double left = a[c], delta = b[c] - left;
        lanes.sum[c % kLanes] += delta * delta;
        mean[c] = left + delta * share;
    }
}
DBENCH_CLONES void combine(const float* a, const float* b, double share, double* mean,
                           int64_t count, Lanes& lanes) {
    combine_body(a, b, share, mean, count, lanes);
}
DBENCH_CLONES void combine(const double* a, const float* b, double share, double* mean,
                           int64_t count, Lanes& lanes) {
    combine_body(a, b, share, mean, count, lanes);
}
DBENCH_CLONES void combine(const double* a, const double* b, double share, double* mean,
                           int64_t count, Lanes& lanes) {
    combine_body(a, b, share, mean, count, lanes);
}

/// The moments of one node from its leaves: rows of T, and their M2 (none for single replicas).
template <class T>
class Node {
public:
    Node(std::span<const Interval> leaves, Interval root, std::vector<const T*> rows,
         std::vector<const double*> m2)
        : plan_(plan_tree(leaves, root)),
          rows_(std::move(rows)),
          leaf_m2_(std::move(m2)),
          lanes_(plan_.steps.size()),
          slot_m2_(static_cast<size_t>(plan_.slots)),
          width_(tile_width(static_cast<int64_t>(rows_.size()), sizeof(T))),
          scratch_(std::make_unique_for_overwrite<double[]>(plan_.slots * width_)) {}

    /// Columns [begin, end) of segment `s`: writes those of `mean`, returns M2.
    double segment(int s, int64_t begin, int64_t end, double* mean) {
        if (plan_.steps.empty()) {
            std::copy(rows_[0] + begin, rows_[0] + end, mean + begin);
            return leaf_m2(0, s);
        }
        std::fill(lanes_.begin(), lanes_.end(), Lanes{});
        for (int64_t at = begin; at < end; at += width_) {
            tile(at, std::min(width_, end - at), mean + at);
        }
        for (size_t k = 0; k < plan_.steps.size(); ++k) {
            const TreeStep& step = plan_.steps[k];
            const double a = static_cast<double>(step.left_count);
            const double b = static_cast<double>(step.right_count);
            slot_m2_[step.slot] =
                m2_of(step.left, s) + m2_of(step.right, s) + total(lanes_[k]) * (a * b / (a + b));
        }
        return slot_m2_[plan_.steps.back().slot];
    }

private:
    double leaf_m2(int leaf, int s) const { return leaf_m2_.empty() ? 0 : leaf_m2_[leaf][s]; }
    double m2_of(Operand from, int s) const {
        return from.leaf ? leaf_m2(from.index, s) : slot_m2_[from.index];
    }

    void tile(int64_t at, int64_t count, double* mean) {
        const auto leaf = [&](Operand from) {
            prefetch(rows_[from.index] + at + count, count);
            return rows_[from.index] + at;
        };
        const auto slot = [&](int index) { return scratch_.get() + index * width_; };
        for (size_t k = 0; k < plan_.steps.size(); ++k) {
            const TreeStep& step = plan_.steps[k];
            const double a = static_cast<double>(step.left_count);
            const double b = static_cast<double>(step.right_count);
            const double share = b / (a + b);
            double* out = k + 1 == plan_.steps.size() ? mean : slot(step.slot);
            Lanes& lanes = lanes_[k];
            // A left part is never smaller than the right one: a replica is left of a replica only.
            if (step.left.leaf && step.right.leaf) {
                combine(leaf(step.left), leaf(step.right), share, out, count, lanes);
            } else if (step.right.leaf) {
                combine(slot(step.left.index), leaf(step.right), share, out, count, lanes);
            } else {
                combine(left_of(step, leaf, slot), slot(step.right.index), share, out, count,
                        lanes);
            }
        }
    }
    template <class Leaf, class Slot>
    static const double* left_of(const TreeStep& step, const Leaf& leaf, const Slot& slot) {
        if constexpr (std::is_same_v<T, double>) {
            if (step.left.leaf) return leaf(step.left);
        }
        return slot(step.left.index);
    }

    TreePlan plan_;
    std::vector<const T*> rows_;
    std::vector<const double*> leaf_m2_;
    std::vector<Lanes> lanes_;  // per step
    std::vector<double> slot_m2_;
    int64_t width_;
    std::unique_ptr<double[]> scratch_;
};

/// All segments in `columns`; padding of the mean is zero.
template <class T>
void run(const Layout& layout, Node<T>& node, Columns columns, double* mean, double* m2) {
    const auto [first, last] = layout.segments_in(columns);
    for (int s = first; s < last; ++s) {
        const Segment& segment = layout.segments()[s];
        m2[s] = node.segment(s, segment.begin, segment.end, mean);
        const int64_t next = s + 1 < last ? layout.segments()[s + 1].begin : columns.end;
        std::fill(mean + segment.end, mean + std::max(next, segment.end), 0.0);
    }
}

}  // namespace

void tree_moments(const Layout& layout, int64_t n, Rows rows, std::span<const Interval> nodes,
                  Columns columns, double* mean, double* m2) {
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
            Node<T> node(leaves, nodes[k], std::move(replicas), {});
            run(layout, node, columns, mean + static_cast<int64_t>(k) * layout.columns(),
                m2 + k * segments);
        });
    }
}

void combine_moments(const Layout& layout, int64_t n, std::span<const Moments> parts,
                     Columns columns, double* mean, double* m2) {
    std::vector<Interval> leaves;
    std::vector<const double*> means, seconds;
    for (const Moments& part : parts) {
        leaves.push_back(part.interval);
        means.push_back(part.mean);
        seconds.push_back(part.m2);
    }
    count_passes(DType::float64, columns, static_cast<int64_t>(parts.size()), 1,
                 Kernel::statistics);
    Node<double> node(leaves, {0, n}, std::move(means), std::move(seconds));
    run(layout, node, columns, mean, m2);
}

}  // namespace dbench::arena
