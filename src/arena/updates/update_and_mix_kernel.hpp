#pragma once
// The kernel body of an update and an averaging of its rows (update_and_mix.hpp). A block reads
// some columns of all rows into its scratch memory, computes there, and writes the results to
// memory.

#include "arena/grid/segment_grid.hpp"
#include "arena/updates/update_and_mix.hpp"

namespace dbench::arena {

template <class T, class Update>
struct UpdateAndMix {
    static constexpr int kMaxTerms = 4;  // Terms that are kept in registers.
    static constexpr int kMinBlocksPerProcessor = sizeof(T) > 4 ? 2 : 4;
    static constexpr int kBytesAhead = 48;  // Per thread: four blocks per multiprocessor.

    using Weight = std::conditional_t<std::is_same_v<T, float>, float, double>;

    Update update;  // The update of all rows, from x to `out`.
    MixOrder order;
    const WeightedRow<Weight>* terms;
    const int64_t* first;
    const Blend* blends;
    int64_t all_blends;
    double* squared_before;
    int64_t width;  // Width of a tile, a multiple of kLanes.
    int64_t parts;  // Blocks per segment, with one tile each; 1 means one block for all tiles of
                    // the segment.

    constexpr int64_t rows() const { return update.grid.rows; }
    constexpr int64_t blocks() const { return update.grid.count * parts; }
    constexpr bool keeps_steps() const { return order == MixOrder::combine_while_adapt; }
    constexpr int64_t scratch_bytes() const {
        const int64_t sums = (squared_before ? 1 : 0) + (update.grid.squared ? 1 : 0);
        return (keeps_steps() ? 2 : 1) * scratch_for<T>(rows() * width) +
               sums * scratch_for<Lanes>(rows());
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Piece segment = update.grid.piece(index / parts);
        const int64_t begin = index % parts * width;
        const int64_t end = parts == 1 ? segment.count : std::min(begin + width, segment.count);
        T* const kept = block.template scratch<T>(rows() * width);
        T* const steps = keeps_steps() ? block.template scratch<T>(rows() * width) : nullptr;
        Lanes* const before = squared_before ? SegmentGrid::lanes(block, rows()) : nullptr;
        Lanes* const updates = update.grid.squared ? SegmentGrid::lanes(block, rows()) : nullptr;
        for (int64_t at = begin; at < end; at += width) {
            Piece tile = segment;
            tile.begin += at;
            tile.count = std::min(width, end - at);
            adapt(block, tile, kept, steps, before, updates);
            blend(block, tile.count, kept);
            combine(block, tile, kept, steps);
        }
        if (before) store(block, segment.segment, before, squared_before);
        if (updates) store(block, segment.segment, updates, update.grid.squared);
    }

private:
    template <class V, class Rest>
    struct Inputs {
        V x;
        Rest rest;  // Further values that the update reads.
    };

    /// Stores x, or x - lr d if the update comes first, in `kept`, and lr d in `steps` if that is
    /// not null. Adds the squares of what is kept to `before`, and those of lr d to `updates`, if
    /// these are not null; one thread then processes one lane of a row.
    template <class Block>
    DBENCH_INLINE void adapt(Block& block, const Piece& tile, T* kept, T* steps, Lanes* before,
                             Lanes* updates) const {
        const Rows x = update.base;
        const bool adapts = order == MixOrder::adapt_then_combine;
        const int64_t stride = width;
        update.with_rows(tile, [&](const auto& row_of) DBENCH_INLINE_LAMBDA {
            const auto read = [=](int64_t i) DBENCH_INLINE_LAMBDA {
                const Elements<const T> from(x.row<T>(i) + tile.begin);
                const auto row = row_of(i);
                return [=](auto c) DBENCH_INLINE_LAMBDA {
                    return Inputs<Value<T, decltype(c)>, decltype(row.read(c))>{from[c],
                                                                                row.read(c)};
                };
            };
            const auto keep = [=](int64_t i, const auto& use) DBENCH_INLINE_LAMBDA {
                const auto row = row_of(i);
                const Elements<T> to(kept + i * stride), row_steps(steps + i * stride);
                return [=](auto c, const auto& taken) DBENCH_INLINE_LAMBDA {
                    const auto d = row.step(c, taken.rest, taken.x);
                    const auto value = adapts ? taken.x - d : taken.x;
                    if (steps) row_steps[c] = d;
                    to[c] = value;
                    use(value, d);
                };
            };
            if (!before && !updates) {
                const auto work = [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    return keep(i, [](const auto&, const auto&) DBENCH_INLINE_LAMBDA {});
                };
                return block.template for_packs<T>(rows(), tile.count, read, work);
            }
            block.for_rows(rows(), kLanes, [=](int64_t i) DBENCH_INLINE_LAMBDA {
                return [=](int64_t lane) DBENCH_INLINE_LAMBDA {
                    double kept_sum = before ? before[i].sum[lane] : 0;
                    double step_sum = updates ? updates[i].sum[lane] : 0;
                    walk_lane<kBytesAhead>(static_cast<int>(lane), static_cast<int>(tile.count),
                                           read(i),
                                           keep(i, [&](T value, T step) DBENCH_INLINE_LAMBDA {
                                               const double v = value, d = step;
                                               kept_sum += v * v;
                                               step_sum += d * d;
                                           }));
                    if (before) before[i].sum[lane] = kept_sum;
                    if (updates) updates[i].sum[lane] = step_sum;
                };
            });
        });
    }

    template <class Block>
    DBENCH_INLINE void blend(Block& block, int64_t count, T* kept) const {
        if (all_blends == 0) return;
        const Blend* const all = blends;
        const int64_t last = all_blends, stride = width;
        block.template for_packs<T>(1, count, [=](int64_t) DBENCH_INLINE_LAMBDA {
            return [=](auto c) DBENCH_INLINE_LAMBDA {
                for (int64_t k = 0; k < last; ++k) {
                    const Elements<T> left(kept + all[k].left * stride);
                    const Elements<const T> right(kept + all[k].right * stride);
                    left[c] = left[c] + static_cast<T>(all[k].share) * (right[c] - left[c]);
                }
            };
        });
    }

    /// Computes out = W times the rows, minus the steps if the update does not come first.
    template <class Block>
    DBENCH_INLINE void combine(Block& block, const Piece& tile, const T* kept,
                               const T* steps) const {
        const Rows out = update.out;
        const WeightedRow<Weight>* const all = terms;
        const int64_t* const begins = first;
        const int64_t stride = width;
        const Elements<const T> from(kept);
        block.template for_packs<T>(rows(), tile.count, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            struct {
                int row[kMaxTerms];  // Start of the row in scratch memory.
                T weight[kMaxTerms];
            } near;
            const WeightedRow<Weight>* const of_row = all + begins[i];
            const int others = static_cast<int>(begins[i + 1] - begins[i]) - 1;
            DBENCH_UNROLL
            for (int k = 0; k < kMaxTerms; ++k) {
                const WeightedRow<Weight>& term = of_row[k < others ? k + 1 : 0];
                near.row[k] = static_cast<int>(term.row * stride);
                near.weight[k] = static_cast<T>(term.weight);
            }
            const Elements<const T> base(kept + of_row->row * stride),
                row_steps(steps + i * stride);
            const T total = static_cast<T>(of_row->weight);
            const Elements<T> to(out.row<T>(i) + tile.begin);
            return [=](auto c) DBENCH_INLINE_LAMBDA {
                const auto origin = base[c];
                auto value = total * origin;
                if (others > 0) {
                    auto sum = near.weight[0] * (from[near.row[0] + c] - origin);
                    DBENCH_UNROLL
                    for (int k = 1; k < kMaxTerms; ++k) {
                        if (k >= others) break;
                        sum += near.weight[k] * (from[near.row[k] + c] - origin);
                    }
                    for (int k = kMaxTerms; k < others; ++k) {
                        const WeightedRow<Weight>& term = of_row[k + 1];
                        sum += static_cast<T>(term.weight) * (from[term.row * stride + c] - origin);
                    }
                    value += sum;
                }
                to[c] = steps ? value - row_steps[c] : value;
            };
        });
    }

    template <class Block>
    DBENCH_INLINE void store(Block& block, int64_t segment, const Lanes* lanes,
                             double* squared) const {
        const int64_t all = update.grid.all;
        block.for_rows(rows(), 1, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            return [=](int64_t)
                       DBENCH_INLINE_LAMBDA { squared[i * all + segment] = total(lanes[i]); };
        });
    }
};

}  // namespace dbench::arena
