#pragma once
// The kernel body of means and second moments over replicas, combined along the tree: a block for
// each segment. For parts A and B of a and b replicas, with delta = mean_B - mean_A (Chan, Golub,
// LeVeque 1983, equations 2.1):
//   mean = mean_A + delta b / (a + b),   M2 = M2_A + M2_B + |delta|^2 a b / (a + b).
// Identical replicas have delta = 0 at every node, so M2 is exactly 0.

#include "arena/grid/segment_grid.hpp"
#include "arena/sums/tree_plan.hpp"

namespace dbench::arena {

template <class T>
struct TreeMoments {
    SegmentGrid grid;  // The grid of one row, the mean.
    const T* const* rows;
    const double* const* leaf_m2;  // Per leaf [S]; null means 0, for single replicas.
    const TreeStep* steps;         // Empty if the root is the only leaf.
    int64_t count, slots;
    double* mean;
    double* m2;     // [S]
    int64_t width;  // Width of a tile, a multiple of kLanes.
    // The remaining members are for a device, where the steps are sorted by level.
    const int64_t* first;  // [levels + 1]: index of each level's first step.
    int64_t levels;
    int64_t passes;  // Passes over a segment, each for a part of the lanes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        if (levels > 0) return scratch_bytes(count, slots, width, passes);
        return scratch_for<Lanes>(count) + scratch_for<double>(slots * width) +
               scratch_for<double>(slots);
    }
    static constexpr int64_t scratch_bytes(int64_t count, int64_t slots, int64_t width,
                                           int64_t passes) {
        return scratch_for<double>(count * kLanes / passes) + scratch_for<double>(count * passes) +
               scratch_for<double>(slots * width / passes) + scratch_for<double>(slots);
    }

    /// Sets the padding of the mean after the segment to zero.
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
        if constexpr (Block::kManyThreads) {
            with_many_threads(block, p, to);
        } else {
            with_one_thread(block, p, to);
        }
    }

private:
    template <class Block>
    DBENCH_INLINE void with_one_thread(Block& block, const Piece& p, double* to) const {
        const int64_t s = p.segment, end = p.begin + p.count;
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
    /// Performs all steps of a level at once: a thread computes one lane of one step. The scratch
    /// memory holds all means of a level and all lanes. If there are very many steps, each pass
    /// handles only a part of the lanes.
    template <class Block>
    DBENCH_INLINE void with_many_threads(Block& block, const Piece& p, double* to) const {
        const TreeMoments body = *this;
        const int64_t lanes = kLanes / passes;
        double* const sums = block.template scratch<double>(count * lanes);
        double* const shares = block.template scratch<double>(count * passes);
        double* const kept = block.template scratch<double>(slots * width / passes);
        double* const seconds = block.template scratch<double>(slots);
        for (int64_t pass = 0; pass < passes; ++pass) {
            block.for_each(count * lanes, [=](int64_t k) DBENCH_INLINE_LAMBDA { sums[k] = 0; });
            for (int64_t at = 0; at < p.count; at += width) {
                const int64_t here = std::min(width, p.count - at);
                level_after_level(block, p.begin + at, here, pass, sums, kept);
            }
            block.for_each(count, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                shares[k * body.passes + pass] = add_pairwise(sums + k * lanes, lanes);
            });
        }
        for (int64_t level = 0; level < levels; ++level) {
            const int64_t begin = first[level];
            block.for_each(first[level + 1] - begin, [=](int64_t i) DBENCH_INLINE_LAMBDA {
                const int64_t k = begin + i;
                const TreeStep& step = body.steps[k];
                seconds[step.slot] =
                    body.m2_of(step.left, p.segment, seconds) +
                    body.m2_of(step.right, p.segment, seconds) +
                    add_pairwise(shares + k * body.passes, body.passes) * step.weight;
            });
        }
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
            *to = seconds[body.steps[body.count - 1].slot];
        });
    }
    /// Processes `here` columns from `at` on; a pass handles only the columns of its lanes.
    template <class Block>
    DBENCH_INLINE void level_after_level(Block& block, int64_t at, int64_t here, int64_t pass,
                                         double* sums, double* kept) const {
        const TreeMoments body = *this;
        const int64_t lanes = kLanes / passes;
        for (int64_t level = 0; level < levels; ++level) {
            const int64_t begin = first[level];
            block.for_rows(first[level + 1] - begin, lanes, [=](int64_t i) DBENCH_INLINE_LAMBDA {
                const int64_t k = begin + i, stride = body.width / body.passes;
                const TreeStep step = body.steps[k];
                const bool root = k + 1 == body.count;
                return [=](int64_t lane) DBENCH_INLINE_LAMBDA {
                    const auto value = [&](Operand from, int64_t c,
                                           int64_t n) DBENCH_INLINE_LAMBDA {
                        return from.leaf ? static_cast<double>(body.rows[from.index][at + c])
                                         : kept[from.index * stride + n];
                    };
                    double sum = sums[k * lanes + lane];
                    int64_t n = lane;
                    for (int64_t c = pass + body.passes * lane; c < here; c += kLanes) {
                        const double left = value(step.left, c, n);
                        const double delta = value(step.right, c, n) - left;
                        const double mean_here = left + delta * step.share;
                        if (root) {
                            body.mean[at + c] = mean_here;
                        } else {
                            kept[step.slot * stride + n] = mean_here;
                        }
                        sum += delta * delta;
                        n += lanes;
                    }
                    sums[k * lanes + lane] = sum;
                };
            });
        }
    }
    /// Adds in the order of total() (lanes.hpp); the sums may be every n-th lane only.
    static DBENCH_INLINE double add_pairwise(double* sums, int64_t count) {
        for (int64_t half = count / 2; half > 0; half /= 2) {
            for (int64_t j = 0; j < half; ++j) sums[j] += sums[j + half];
        }
        return sums[0];
    }

    DBENCH_INLINE double m2_of_leaf(int leaf, int64_t s) const {
        return leaf_m2 ? leaf_m2[leaf][s] : 0;
    }
    DBENCH_INLINE double m2_of(Operand from, int64_t s, const double* seconds) const {
        return from.leaf ? m2_of_leaf(from.index, s) : seconds[from.index];
    }

    /// Performs all steps of the tree for `here` columns from `at` on.
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

    /// Computes out = a + share (b - a) and adds the squares of b - a to `lanes`; `out` may be a or
    /// b.
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
