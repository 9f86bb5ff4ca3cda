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
    static constexpr int kMinBlocksPerProcessor = 4;

    SegmentGrid grid;  // The grid of one row, the mean.
    const T* const* rows;
    const double* const* leaf_m2;  // Per leaf [S]; null means 0, for single replicas.
    const TreeStep* steps;         // Empty if the root is the only leaf.
    int64_t count, scratch_rows;
    double* mean;
    double* m2;     // [S]
    int64_t width;  // Width of a tile, a multiple of kLanes.
    // The remaining members are for a device, where the steps are in groups (tree_plan.hpp).
    const PlacedStep* placed;
    const int64_t* first;  // Index of each group's first step, and the end.
    const TreeBatch* batches;
    int64_t all_batches;
    int64_t kept, places;  // Number of places for results, and of all places.
    int64_t passes;        // Passes over a segment, each for a part of the lanes; 0 on the host.
    bool in_packs;         // True if segments of all rows begin at multiples of 16 bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const {
        if (passes > 0) return scratch_bytes(count, places, width, passes);
        return scratch_for<Lanes>(count) + scratch_for<double>(scratch_rows * width) +
               scratch_for<double>(scratch_rows);
    }
    static constexpr int64_t scratch_bytes(int64_t count, int64_t places, int64_t width,
                                           int64_t passes) {
        return scratch_for<double>(count * kLanes / passes) + scratch_for<double>(count * passes) +
               scratch_for<double>(places * (width / passes));
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
        double* const kept = block.template scratch<double>(scratch_rows * width);
        double* const seconds = block.template scratch<double>(scratch_rows);
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
                seconds[step.scratch_row] = body.m2_of(step.left, s, seconds) +
                                            body.m2_of(step.right, s, seconds) +
                                            total(lanes[k]) * step.weight;
            }
            *to = seconds[body.steps[body.count - 1].scratch_row];
        });
    }
    /// Performs a batch of groups of a tile in three loops: all threads copy the leaves to their
    /// places; a thread per group and column performs the steps, which replace the right operand by
    /// the difference; a thread per step and lane adds the squares of the differences. If there are
    /// very many steps, each pass handles only a part of the lanes, so that the sums of all steps
    /// fit into the scratch memory.
    template <class Block>
    DBENCH_INLINE void with_many_threads(Block& block, const Piece& p, double* to) const {
        const TreeMoments body = *this;
        const int64_t lanes = kLanes / passes;
        double* const sums = block.template scratch<double>(count * lanes);
        double* const shares = block.template scratch<double>(count * passes);
        double* const values = block.template scratch<double>(places * (width / passes));
        for (int64_t pass = 0; pass < passes; ++pass) {
            block.for_each(count * lanes, [=](int64_t k) DBENCH_INLINE_LAMBDA { sums[k] = 0; });
            for (int64_t at = 0; at < p.count; at += width) {
                const Tile tile{p.begin + at, std::min(width, p.count - at), pass};
                for (int64_t k = 0; k < all_batches; ++k) {
                    perform(block, tile, batches[k], sums, values);
                }
            }
            block.for_each(count, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                shares[k * body.passes + pass] = add_pairwise(sums + k * lanes, lanes);
            });
        }
        double* const seconds = sums;  // [count]: the sums are no longer needed.
        for (int64_t b = 0; b < all_batches; ++b) {
            const TreeBatch batch = batches[b];
            block.for_each(
                batch.end_group - batch.first_group, [=](int64_t g) DBENCH_INLINE_LAMBDA {
                    const auto second = [=](int32_t from) DBENCH_INLINE_LAMBDA {
                        return from < 0 ? body.m2_of_leaf(-1 - from, p.segment) : seconds[from];
                    };
                    const int64_t group = batch.first_group + g;
                    for (int64_t k = body.first[group]; k < body.first[group + 1]; ++k) {
                        const PlacedStep& step = body.placed[k];
                        seconds[k] =
                            second(step.left_from) + second(step.right_from) +
                            add_pairwise(shares + k * body.passes, body.passes) * step.weight;
                    }
                });
        }
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *to = seconds[body.count - 1]; });
    }
    struct Tile {
        int64_t begin, count, pass;
    };
    template <class Block>
    DBENCH_INLINE void perform(Block& block, const Tile& tile, const TreeBatch& batch, double* sums,
                               double* values) const {
        const TreeMoments body = *this;
        const int lanes = kLanes / static_cast<int>(passes);
        const int stride = static_cast<int>(width / passes);
        // Column n of a pass is the (n / lanes)-th column of its lane n % lanes.
        const int64_t rest = tile.count % kLanes;
        const int64_t in_rest = rest > tile.pass ? (rest - tile.pass - 1) / passes + 1 : 0;
        const int columns = static_cast<int>(tile.count / kLanes * lanes + in_rest);
        const auto column = [=](int64_t n) DBENCH_INLINE_LAMBDA {
            if (body.passes == 1) return tile.begin + n;
            return tile.begin + n / lanes * kLanes + tile.pass + body.passes * (n % lanes);
        };
        const int64_t leaves = batch.end_leaf - batch.first_leaf;
        double* const places_of_leaves = values + kept * stride;
        if (in_packs && passes == 1) {
            block.template for_packs<T>(
                leaves, columns,
                [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    const Elements<const T> row(body.rows[batch.first_leaf + i] + tile.begin);
                    return [=](auto n) DBENCH_INLINE_LAMBDA { return row[n]; };
                },
                [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    const Elements<double> place(places_of_leaves + i * stride);
                    return [=](auto n, auto value)
                               DBENCH_INLINE_LAMBDA { place[n] = as_doubles(value); };
                });
        } else {
            block.for_rows(
                leaves, columns,
                [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    const T* const row = body.rows[batch.first_leaf + i];
                    return [=](int64_t n) DBENCH_INLINE_LAMBDA { return row[column(n)]; };
                },
                [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    double* const place = places_of_leaves + i * stride;
                    return [=](int64_t n, T value) DBENCH_INLINE_LAMBDA { place[n] = value; };
                });
        }
        block.for_rows(
            batch.end_group - batch.first_group, columns, [=](int64_t g) DBENCH_INLINE_LAMBDA {
                const auto begin = static_cast<int>(body.first[batch.first_group + g]);
                const auto end = static_cast<int>(body.first[batch.first_group + g + 1]);
                return [=](int64_t n) DBENCH_INLINE_LAMBDA {
                    double mean_here = 0;
                    for (int k = begin; k < end; ++k) {
                        const PlacedStep& step = body.placed[k];
                        double& right = values[step.right * stride + static_cast<int>(n)];
                        const double left = values[step.left * stride + static_cast<int>(n)];
                        const double delta = right - left;
                        mean_here = left + delta * step.share;
                        right = delta;
                        values[step.out * stride + static_cast<int>(n)] = mean_here;
                    }
                    if (end == body.count) body.mean[column(n)] = mean_here;
                };
            });
        const auto first_step = static_cast<int>(batch.first_step);
        block.for_rows(
            batch.end_step - batch.first_step, lanes, [=](int64_t j) DBENCH_INLINE_LAMBDA {
                const double* const deltas = values + body.placed[first_step + j].right * stride;
                return [=](int64_t lane) DBENCH_INLINE_LAMBDA {
                    double& to = sums[(first_step + j) * lanes + lane];
                    double sum = to;
                    DBENCH_UNROLL
                    for (int n = static_cast<int>(lane); n < columns; n += lanes) {
                        sum += deltas[n] * deltas[n];
                    }
                    to = sum;
                };
            });
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
            double* const out = k + 1 == count ? mean + at : kept + step.scratch_row * width;
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
