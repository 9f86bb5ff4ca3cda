// The plain passes: zero, copy, scale, search for non-finite elements.

#include "arena/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "arena/loops.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

template <class T>
DBENCH_INLINE void scale_body(T* row, int64_t count, T factor) {
    for (int64_t c = 0; c < count; ++c) row[c] *= factor;
}
DBENCH_CLONES void scale_row(float* row, int64_t count, float factor) {
    scale_body(row, count, factor);
}
DBENCH_CLONES void scale_row(double* row, int64_t count, double factor) {
    scale_body(row, count, factor);
}

/// Whether an exponent is all ones. In integers, for a floating-point test may be compiled away.
template <class Bits, class T>
DBENCH_INLINE bool nonfinite_body(const T* row, int64_t count, Bits exponent) {
    Bits found = 0;
    for (int64_t c = 0; c < count; ++c) {
        found |= (std::bit_cast<Bits>(row[c]) & exponent) == exponent ? Bits{1} : Bits{0};
    }
    return found != 0;
}
DBENCH_CLONES bool nonfinite(const float* row, int64_t count) {
    return nonfinite_body<uint32_t>(row, count, 0x7f800000u);
}
DBENCH_CLONES bool nonfinite(const double* row, int64_t count) {
    return nonfinite_body<uint64_t>(row, count, 0x7ff0000000000000u);
}

}  // namespace

void fill_zero(Rows rows, Columns columns) {
    if (columns.count() <= 0) return;
    count_passes(rows.type, columns, 0, rows.count);
    for (int64_t i = 0; i < rows.count; ++i) {
        std::memset(rows.at(i, columns.begin), 0,
                    static_cast<size_t>(columns.count() * size_of(rows.type)));
    }
}

void copy(Rows from, Rows to, Columns columns) {
    DBENCH_EXPECT(from.count == to.count && from.type == to.type && from.stride == to.stride);
    if (columns.count() <= 0 || from.data == to.data) return;
    count_passes(from.type, columns, from.count, from.count);
    for (int64_t i = 0; i < from.count; ++i) {
        std::memcpy(to.at(i, columns.begin), from.at(i, columns.begin),
                    static_cast<size_t>(columns.count() * size_of(from.type)));
    }
}

void scale(Rows rows, Columns columns, double factor) {
    count_passes(rows.type, columns, rows.count, rows.count);
    with_type(rows.type, [&]<class T>() {
        for (int64_t i = 0; i < rows.count; ++i) {
            scale_row(rows.row<T>(i) + columns.begin, columns.count(), static_cast<T>(factor));
        }
    });
}

void find_nonfinite(Rows rows, Columns columns, std::span<uint8_t> found) {
    DBENCH_EXPECT(static_cast<int64_t>(found.size()) == rows.count);
    count_passes(rows.type, columns, rows.count, 0);
    with_type(rows.type, [&]<class T>() {
        for (int64_t i = 0; i < rows.count; ++i) {
            found[i] = 0;
            for (int64_t begin = columns.begin; begin < columns.end && !found[i]; begin += kBlock) {
                const int64_t count = std::min(kBlock, columns.end - begin);
                found[i] = nonfinite(rows.row<T>(i) + begin, count);
            }
        }
    });
}

}  // namespace dbench::arena
