// The plain kernels: zero, copy, scale, and the search for non-finite elements.

#include "arena/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "arena/grid/launch.hpp"
#include "arena/grid/plain.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

/// Returns true if an exponent is all ones. Works on integers, because the compiler may remove a
/// floating-point test.
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

template <class T>
void on_host(const Zero<T>& body) {
    const Columns columns = body.grid.columns;
    for (int64_t i = 0; i < body.rows.count; ++i) {
        std::memset(body.rows.at(i, columns.begin), 0,
                    static_cast<size_t>(columns.count()) * sizeof(T));
    }
}
template <class T>
void on_host(const Copy<T>& body) {
    const Columns columns = body.grid.columns;
    for (int64_t i = 0; i < body.to.count; ++i) {
        std::memcpy(body.to.at(i, columns.begin), body.from.at(i, columns.begin),
                    static_cast<size_t>(columns.count()) * sizeof(T));
    }
}
DBENCH_CLONES void on_host(const Scale<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Scale<double>& body) { run_blocks(body); }

void fill_zero(Rows rows, Columns columns, Queue& queue) {
    if (columns.count() <= 0) return;
    count_passes(rows.type, columns, 0, rows.count);
    const auto accesses = [&] { return std::vector<Access>{writes(rows, columns)}; };
    with_type(rows.type, [&]<class T>() {
        launch(queue, "fill_zero", Zero<T>{{columns, rows.count}, rows}, accesses);
    });
}

void copy(Rows from, Rows to, Columns columns, Queue& queue) {
    DBENCH_EXPECT(from.count == to.count && from.type == to.type && from.stride == to.stride);
    if (columns.count() <= 0 || from.data == to.data) return;
    count_passes(from.type, columns, from.count, from.count);
    const auto accesses = [&] {
        return std::vector<Access>{reads(from, columns), writes(to, columns)};
    };
    with_type(from.type, [&]<class T>() {
        launch(queue, "copy", Copy<T>{{columns, to.count}, from, to}, accesses);
    });
}

void scale(Rows rows, Columns columns, double factor, Queue& queue) {
    if (columns.count() <= 0) return;
    count_passes(rows.type, columns, rows.count, rows.count);
    const auto accesses = [&] { return std::vector<Access>{writes(rows, columns)}; };
    with_type(rows.type, [&]<class T>() {
        const Scale<T> body{{columns, rows.count}, rows, static_cast<T>(factor)};
        launch(queue, "scale", body, accesses);
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
