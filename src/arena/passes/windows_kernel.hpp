#pragma once
// The kernel body that gathers windows of images as numbers: a block for every kWidth elements of a
// window.

#include "arena/grid/block.hpp"
#include "arena/passes/windows.hpp"

namespace dbench::arena {

template <class T>
struct GatherWindows {
    static constexpr int64_t kWidth = 4096;

    Pictures pictures;
    const Window* windows;
    int64_t count;
    const T* values;
    Planes planes;
    T* out;

    constexpr int64_t in_window() const { return (pictures.numel() + kWidth - 1) / kWidth; }
    constexpr int64_t blocks() const { return count * in_window(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t k = index / in_window(), first = index % in_window() * kWidth;
        const int64_t left = pictures.numel() - first, here = left < kWidth ? left : kWidth;
        const Window window = windows[k];
        const uint8_t* const from = pictures.bytes + window.picture * pictures.numel();
        T* const to = out + k * pictures.numel() + first;
        const T* const table = values;
        const auto begin = static_cast<int32_t>(first), all = static_cast<int32_t>(pictures.planes),
                   height = static_cast<int32_t>(pictures.height),
                   width = static_cast<int32_t>(pictures.width);
        const auto value = [=](int32_t c, int32_t y, int32_t x) DBENCH_INLINE_LAMBDA {
            const int32_t row = y + window.top;
            const int32_t column = (window.mirrored ? width - 1 - x : x) + window.left;
            const bool inside = row >= 0 && row < height && column >= 0 && column < width;
            return table[256 * c + (inside ? from[(c * height + row) * width + column] : 0)];
        };
        if (planes == Planes::first) {
            block.for_each(here, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                const int32_t e = begin + static_cast<int32_t>(k), line = e / width;
                to[k] = value(line / height, line % height, e % width);
            });
        } else {
            block.for_each(here, [=](int64_t k) DBENCH_INLINE_LAMBDA {
                const int32_t e = begin + static_cast<int32_t>(k), pixel = e / all;
                to[k] = value(e % all, pixel / width, pixel % width);
            });
        }
    }
};

}  // namespace dbench::arena
