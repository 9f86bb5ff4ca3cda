#pragma once
// The kernel body that copies arrays into columns of rows (row_parts.hpp): a block for every kWidth
// numbers.

#include "arena/grid/block.hpp"
#include "arena/passes/row_parts.hpp"

namespace dbench::arena {

template <class T>
struct FillParts {
    static constexpr int kMaxParts = 64;  // Parts per launch: they are passed by value as the
                                          // kernel's argument.
    static constexpr int64_t kWidth = 2048;

    Rows to;
    bool adds;
    int all = 0;
    RowPart parts[kMaxParts];
    int64_t ends[kMaxParts];  // Cumulative number of blocks of the parts, for one row.

    constexpr int64_t in_row() const { return all == 0 ? 0 : ends[all - 1]; }
    constexpr int64_t blocks() const { return to.count * in_row(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t row = index / in_row(), here = index % in_row();
        int k = 0;
        while (ends[k] <= here) ++k;
        const RowPart part = parts[k];
        const int64_t first = (here - (k == 0 ? 0 : ends[k - 1])) * kWidth;
        const int64_t left = part.count - first, count = left < kWidth ? left : kWidth;
        T* const out = static_cast<T*>(to.data) +
                       row * (part.out_stride ? part.out_stride : to.stride) + part.begin + first;
        const T* const from =
            part.from ? static_cast<const T*>(part.from) + row * part.stride : nullptr;
        with_flag(adds, [&](auto add) DBENCH_INLINE_LAMBDA {
            const auto put = [out](int64_t c, T value) DBENCH_INLINE_LAMBDA {
                if constexpr (decltype(add)::value) {
                    out[c] += value;
                } else {
                    out[c] = value;
                }
            };
            constexpr int kSome = 32 / sizeof(T);
            if (Block::kManyThreads && part.lines == 0) {
                block.template for_some<kSome>(count,
                                               [=](int64_t c, int some) DBENCH_INLINE_LAMBDA {
                                                   T values[kSome] = {};
                                                   if (from)
                                                       load_some(from + first + c, some, values);
                                                   if constexpr (decltype(add)::value) {
                                                       T sums[kSome];
                                                       load_some<T>(out + c, some, sums);
                                                       DBENCH_UNROLL
                                                       for (int j = 0; j < kSome; ++j)
                                                           values[j] = sums[j] + values[j];
                                                   }
                                                   store_some(values, some, out + c);
                                               });
            } else if (!from) {
                block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA { put(c, T{0}); });
            } else if (part.lines == 0) {
                const T* const values = from + first;
                block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA { put(c, values[c]); });
            } else {
                const auto begin = static_cast<uint32_t>(first),
                           lines = static_cast<uint32_t>(part.lines),
                           columns = static_cast<uint32_t>(part.columns);
                block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    const uint32_t e = begin + static_cast<uint32_t>(c);
                    const uint32_t matrix = e / (lines * columns), in = e % (lines * columns);
                    put(c, from[matrix * (lines * columns) + in % columns * lines + in / columns]);
                });
            }
        });
    }
};

}  // namespace dbench::arena
