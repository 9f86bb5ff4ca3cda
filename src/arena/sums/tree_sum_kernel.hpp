#pragma once
// The kernel body of a sum or mean of rows along the tree: a block for each tile of columns.

#include "arena/grid/block.hpp"
#include "arena/rows.hpp"
#include "arena/sums/tree_plan.hpp"

namespace dbench::arena {

/// The operation of a step: the sum of its operands, or their mean.
enum class TreeForm : uint8_t { sum, mean };

template <class T>
struct TreeSum {
    static constexpr int kMinBlocksPerProcessor = 4;  // A thread waits for each of its reads.

    TreeForm form;
    const T* const* rows;   // The leaves.
    const TreeStep* steps;  // Empty if the root is the only leaf.
    int64_t count, scratch_rows;
    T* out;
    Columns columns;
    int64_t width;  // Width of a tile.
    bool in_packs;  // True if tiles of all rows begin at multiples of 16 bytes.

    constexpr int64_t blocks() const { return (columns.count() + width - 1) / width; }
    constexpr int64_t scratch_bytes() const { return scratch_for<T>(scratch_rows * width); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t begin = columns.begin + index * width;
        const int64_t here = std::min(width, columns.end - begin);
        T* const kept = block.template scratch<T>(scratch_rows * width);
        if constexpr (Block::kManyThreads) {
            with_many_threads(block, begin, here, kept);
        } else {
            with_one_thread(block, begin, here, kept);
        }
    }

private:
    template <class Block>
    DBENCH_INLINE void with_one_thread(Block& block, int64_t begin, int64_t here, T* kept) const {
        const int64_t next = begin + here, ahead = std::min(width, columns.end - next);
        const auto operand = [&](Operand from) DBENCH_INLINE_LAMBDA {
            if (!from.leaf) return static_cast<const T*>(kept + from.index * width);
            block.prefetch(rows[from.index] + next, ahead);
            return rows[from.index] + begin;
        };
        T* const root = out + begin;
        if (count == 0) {
            const T* const leaf = rows[0] + begin;
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA { root[c] = leaf[c]; });
        }
        for (int64_t k = 0; k < count; ++k) {
            const TreeStep& step = steps[k];
            const T* const a = operand(step.left);
            const T* const b = operand(step.right);
            T* const result = k + 1 == count ? root : kept + step.scratch_row * width;
            if (form == TreeForm::sum) {
                block.for_each(here,
                               [=](int64_t c) DBENCH_INLINE_LAMBDA { result[c] = a[c] + b[c]; });
                continue;
            }
            // The mean of two means. This form reproduces equal operands bit for bit.
            const T share = static_cast<T>(step.share);
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                result[c] = a[c] + share * (b[c] - a[c]);
            });
        }
    }
    /// Each thread evaluates the whole tree for its columns.
    template <class Block>
    DBENCH_INLINE void with_many_threads(Block& block, int64_t begin, int64_t here, T* kept) const {
        const TreeSum s = *this;
        const auto evaluate = [=](int64_t) DBENCH_INLINE_LAMBDA {
            return [=](auto c) DBENCH_INLINE_LAMBDA {
                using V = Value<T, decltype(c)>;
                const auto value = [&](Operand from) DBENCH_INLINE_LAMBDA -> V {
                    const T* const row =
                        from.leaf ? s.rows[from.index] + begin : kept + from.index * s.width;
                    return Elements<const T>(row)[c];
                };
                V result = s.count == 0 ? value({true, 0}) : V(T{0});
                for (int64_t k = 0; k < s.count; ++k) {
                    const TreeStep& step = s.steps[k];
                    const V a = value(step.left), b = value(step.right);
                    result =
                        s.form == TreeForm::sum ? a + b : a + static_cast<T>(step.share) * (b - a);
                    Elements<T>(kept + step.scratch_row * s.width)[c] = result;
                }
                Elements<T>(s.out + begin)[c] = result;
            };
        };
        if (in_packs) {
            block.template for_packs<T>(1, here, evaluate);
        } else {
            block.for_rows(1, here, evaluate);
        }
    }
};

}  // namespace dbench::arena
