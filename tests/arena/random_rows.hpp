#pragma once
// Test data of this module: a layout with all kinds of tensor sizes, and rows of random numbers.

#include <algorithm>
#include <cstring>

#include "arena/device/memory.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "base/random.hpp"

namespace dbench::arena {

/// Tensors smaller than a cache line, of one element, of several blocks, and with an incomplete
/// last block.
inline Layout ragged_layout() {
    Layout layout;
    layout.add("a", {7}, TensorKind::bias);
    layout.add("b", {3, 43}, TensorKind::weight);
    layout.add("c", {}, TensorKind::norm);
    layout.add("d", {2 * kBlock + 1000}, TensorKind::weight);
    layout.add("e", {64, 8}, TensorKind::weight);
    layout.add("f", {kBlock}, TensorKind::weight);
    layout.add("g", {10}, TensorKind::bias);
    return layout;
}

/// Returns standard normal numbers in every tensor's columns, in host-visible memory; the padding
/// stays zero.
inline Buffer random_rows(const Layout& layout, DType type, int64_t count, uint64_t seed,
                          int64_t first = 0, const Memories& memories = host_memories()) {
    Buffer buffer = memories.host_visible_rows(type, first, count, layout.columns());
    for (int64_t i = 0; i < count; ++i) {
        base::Random random(seed, base::Purpose::init, {static_cast<uint64_t>(first + i)});
        with_type(type, [&]<class T>() {
            for (const Tensor& tensor : layout.tensors()) {
                T* values = buffer.rows().row<T>(i) + tensor.offset;
                for (int64_t c = 0; c < tensor.numel; ++c) {
                    values[c] = static_cast<T>(random.normal());
                }
            }
        });
    }
    return buffer;
}

inline double element(const Rows& rows, int64_t row, int64_t column) {
    return rows.type == DType::float32 ? rows.row<float>(row)[column]
                                       : rows.row<double>(row)[column];
}

inline bool same_bits(const Rows& a, const Rows& b) {
    return std::memcmp(a.data, b.data, static_cast<size_t>(a.count * a.stride * size_of(a.type))) ==
           0;
}

inline bool padding_is_zero(const Layout& layout, const Rows& rows) {
    std::vector<bool> used(static_cast<size_t>(layout.columns()));
    for (const Tensor& tensor : layout.tensors()) {
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) used[c] = true;
    }
    for (int64_t i = 0; i < rows.count; ++i) {
        for (int64_t c = 0; c < layout.columns(); ++c) {
            if (!used[c] && element(rows, i, c) != 0) return false;
        }
    }
    return true;
}

/// Returns ranges that together cover the whole row, cut at multiples of the alignment.
inline std::vector<Columns> cut_up(const Layout& layout) {
    std::vector<Columns> ranges;
    const int64_t widths[] = {16, 48, 16, 1008, 512, 4096, 32, 528};
    int64_t begin = 0;
    for (size_t k = 0; begin < layout.columns(); ++k) {
        const int64_t end = std::min(begin + widths[k % 8], layout.columns());
        ranges.push_back({begin, end});
        begin = end;
    }
    return ranges;
}

/// Returns ranges that begin and end at segments.
inline std::vector<Columns> cut_at_segments(const Layout& layout) {
    std::vector<Columns> ranges;
    for (const Segment& segment : layout.segments()) ranges.push_back({segment.begin, segment.end});
    for (size_t k = 0; k + 1 < ranges.size(); ++k) ranges[k].end = ranges[k + 1].begin;
    ranges.back().end = layout.columns();
    return ranges;
}

}  // namespace dbench::arena
