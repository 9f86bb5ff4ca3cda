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
    constexpr int64_t scratch_bytes() const { return scratch_for<T>(256 * pictures.planes); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t k = index / in_window(), first = index % in_window() * kWidth;
        const int64_t left = pictures.numel() - first, here = left < kWidth ? left : kWidth;
        const Window window = windows[k];
        const uint8_t* const from = pictures.bytes + window.picture * pictures.numel();
        T* const to = out + k * pictures.numel() + first;
        // Threads look up different values at a time, which scratch memory does faster.
        T* const table = block.template scratch<T>(256 * pictures.planes);
        const T* const all_values = values;
        block.for_each(256 * pictures.planes,
                       [=](int64_t v) DBENCH_INLINE_LAMBDA { table[v] = all_values[v]; });
        const Planes order = planes;
        const auto all = static_cast<int32_t>(pictures.planes),
                   height = static_cast<int32_t>(pictures.height),
                   width = static_cast<int32_t>(pictures.width);
        const auto value = [=](int32_t c, int32_t y, int32_t x) DBENCH_INLINE_LAMBDA {
            const int32_t row = y + window.top;
            const int32_t column = (window.mirrored ? width - 1 - x : x) + window.left;
            const bool inside = row >= 0 && row < height && column >= 0 && column < width;
            return table[256 * c + (inside ? from[(c * height + row) * width + column] : 0)];
        };
        // A thread computes a pack of adjacent elements: it divides once, then counts.
        const bool in_packs = begins_pack(to);
        block.for_each((here + kPack - 1) / kPack, [=](int64_t pack) DBENCH_INLINE_LAMBDA {
            const auto e = static_cast<int32_t>(first + pack * kPack);
            const int32_t end = static_cast<int32_t>(first + here) - e;
            int32_t c, y, x;
            if (order == Planes::first) {
                c = e / width / height, y = e / width % height, x = e % width;
            } else {
                c = e % all, y = e / all / width, x = e / all % width;
            }
            Pack<T, kPack> out_pack;
            DBENCH_UNROLL
            for (int k = 0; k < kPack; ++k) {
                out_pack.of[k] = k < end ? value(c, y, x) : T{0};
                if (order != Planes::first && ++c == all) c = 0;
                if (order == Planes::first || c == 0) ++x;
                if (x == width) x = 0, ++y;
                if (order == Planes::first && y == height) y = 0, ++c;
            }
            if (in_packs && end >= kPack) {
                *reinterpret_cast<Pack<T, kPack>*>(to + pack * kPack) = out_pack;
                return;
            }
            DBENCH_UNROLL
            for (int k = 0; k < kPack; ++k) {
                if (k < end) to[pack * kPack + k] = out_pack.of[k];
            }
        });
    }

private:
    static constexpr int64_t kPack = 16 / int64_t{sizeof(T)};
};

}  // namespace dbench::arena
