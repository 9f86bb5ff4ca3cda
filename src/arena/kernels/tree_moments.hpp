#pragma once
// Mean and second moments over replicas, combined along the tree: a block for each segment. For
// parts A and B of a and b replicas, with delta = mean_B - mean_A (Chan, Golub, LeVeque 1983,
// equations 2.1):
//   mean = mean_A + delta b / (a + b),   M2 = M2_A + M2_B + |delta|^2 a b / (a + b).
// Identical replicas have delta = 0 at every node, so M2 exactly 0.

#include "arena/kernels/segment_grid.hpp"
#include "arena/tree_plan.hpp"

namespace dbench::arena {

template <class T>
struct TreeMoments {
    SegmentGrid grid;  // of one row, the mean
    const T* const* rows;
    const double* const* leaf_m2;  // per leaf [S]; null: all 0, for single replicas
    const TreeStep* steps;         // none: the one leaf is the root
    int64_t count, slots;
    double* mean;
    double* m2;     // [S]
    int64_t width;  // of a tile

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        return scratch_for<Lanes>(count) + scratch_for<double>(slots * width) +
               scratch_for<double>(slots);
    }

    /// Padding of the mean behind the segment is zero.
    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece p = grid.piece(index);
        const int64_t s = p.segment, end = p.begin + p.count;
        const bool last = s + 1 == grid.first + grid.count;
        const int64_t next = last ? grid.columns.end : grid.segments[s + 1].begin;
        double* const behind = mean + end;
        block.for_each(next - end, [=](int64_t c) DBENCH_INLINE_LAMBDA { behind[c] = 0; });
        double* const to = m2 + s;
        if (count == 0) {
            const T* const leaf = rows[0] + p.begin;
            double* const out = mean + p.begin;
            block.for_each(p.count, [=](int64_t c) DBENCH_INLINE_LAMBDA { out[c] = leaf[c]; });
            const double of = m2_of_leaf(0, s);
            block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *to = of; });
            return;
        }
        Lanes* const lanes = block.template scratch<Lanes>(count);
        double* const kept = block.template scratch<double>(slots * width);
        double* const seconds = block.template scratch<double>(slots);
        block.for_each(count * kLanes, [=](int64_t k) DBENCH_INLINE_LAMBDA {
            lanes[k / kLanes].sum[k % kLanes] = 0;
        });
        for (int64_t at = p.begin; at < end; at += width) {
            tile(block, at, std::min(width, end - at), lanes, kept);
        }
        const TreeMoments& body = *this;
        block.for_each(1, [=, &body](int64_t) DBENCH_INLINE_LAMBDA {
            for (int64_t k = 0; k < body.count; ++k) {
                const TreeStep& step = body.steps[k];
                seconds[step.slot] = body.m2_of(step.left, s, seconds) +
                                     body.m2_of(step.right, s, seconds) +
                                     total(lanes[k]) * step.weight;
            }
            *to = seconds[body.steps[body.count - 1].slot];
        });
    }

private:
    DBENCH_INLINE double m2_of_leaf(int leaf, int64_t s) const {
        return leaf_m2 ? leaf_m2[leaf][s] : 0;
    }
    DBENCH_INLINE double m2_of(Operand from, int64_t s, const double* seconds) const {
        return from.leaf ? m2_of_leaf(from.index, s) : seconds[from.index];
    }

    /// All steps of the tree for `here` columns from `at` on.
    template <class Block>
    DBENCH_INLINE void tile(Block& block, int64_t at, int64_t here, Lanes* lanes,
                            double* kept) const {
        for (int64_t k = 0; k < count; ++k) {
            const TreeStep& step = steps[k];
            double* const out = k + 1 == count ? mean + at : kept + step.slot * width;
            const auto add = [&](const auto* left, const auto* right) DBENCH_INLINE_LAMBDA {
                combine(block, left, right, step.share, out, here, lanes[k]);
            };
            if (step.left.leaf && step.right.leaf) {
                add(leaf(block, step.left, at, here), leaf(block, step.right, at, here));
            } else if (step.right.leaf) {
                add(kept + step.left.index * width, leaf(block, step.right, at, here));
            } else if (step.left.leaf) {
                add(leaf(block, step.left, at, here), kept + step.right.index * width);
            } else {
                add(kept + step.left.index * width, kept + step.right.index * width);
            }
        }
    }
    template <class Block>
    DBENCH_INLINE const T* leaf(Block& block, Operand from, int64_t at, int64_t here) const {
        block.prefetch(rows[from.index] + at + here, here);
        return rows[from.index] + at;
    }

    /// Adds the squares of b - a to `lanes`; `out` may be a or b.
    template <class Block, class A, class B>
    static DBENCH_INLINE void combine(Block& block, const A* a, const B* b, double share,
                                      double* out, int64_t here, Lanes& lanes) {
        block.add_squares(lanes, here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const double left = a[c], delta = b[c] - left;
            out[c] = left + delta * share;
            return delta;
        });
    }
};

}  // namespace dbench::arena
