#pragma once
// Kernel bodies of zero, copy and scale.

#include "arena/grid/block.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The grid of the plain kernels: a block for every kWidth columns of a row.
struct ColumnGrid {
    static constexpr int64_t kWidth = 4096;

    Columns columns;
    int64_t rows;

    constexpr int64_t in_row() const { return (columns.count() + kWidth - 1) / kWidth; }
    constexpr int64_t blocks() const { return rows * in_row(); }
    constexpr int64_t row(int64_t index) const { return index / in_row(); }
    constexpr Columns part(int64_t index) const {
        const int64_t begin = columns.begin + index % in_row() * kWidth;
        return {begin, std::min(begin + kWidth, columns.end)};
    }
    /// Calls work(c), or work(c, read(c)), for the elements c of a part; c is a pack if `in_packs`.
    template <class T, class Block, class... Work>
    static DBENCH_INLINE void for_elements(Block& block, const Columns& part, bool in_packs,
                                           const Work&... work) {
        if (in_packs) {
            block.template for_packs<T>(1, part.count(),
                                        [=](int64_t) DBENCH_INLINE_LAMBDA { return work; }...);
        } else {
            block.for_rows(1, part.count(), [=](int64_t) DBENCH_INLINE_LAMBDA { return work; }...);
        }
    }
};

template <class T>
struct Zero {
    ColumnGrid grid;
    Rows rows;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Columns part = grid.part(index);
        T* const row = rows.row<T>(grid.row(index)) + part.begin;
        const Elements<T> x(row);
        grid.for_elements<T>(block, part, begins_pack(row), [=](auto c) DBENCH_INLINE_LAMBDA {
            x[c] = Value<T, decltype(c)>(T{0});
        });
    }
};

template <class T>
struct Copy {
    ColumnGrid grid;
    Rows from, to;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Columns part = grid.part(index);
        const T* const source = from.row<T>(grid.row(index)) + part.begin;
        T* const target = to.row<T>(grid.row(index)) + part.begin;
        const Elements<const T> x(source);
        const Elements<T> out(target);
        grid.for_elements<T>(
            block, part, begins_pack(source) && begins_pack(target),
            [=](auto c) DBENCH_INLINE_LAMBDA { return x[c]; },
            [=](auto c, auto value) DBENCH_INLINE_LAMBDA { out[c] = value; });
    }
};

template <class T>
struct Scale {
    ColumnGrid grid;
    Rows rows;
    T factor;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const Columns part = grid.part(index);
        T* const row = rows.row<T>(grid.row(index)) + part.begin;
        const Elements<T> x(row);
        const T by = factor;
        grid.for_elements<T>(
            block, part, begins_pack(row),
            [=](auto c) DBENCH_INLINE_LAMBDA { return Value<T, decltype(c)>(x[c]); },
            [=](auto c, auto value) DBENCH_INLINE_LAMBDA { x[c] = value * by; });
    }
};

}  // namespace dbench::arena
