#pragma once
// Counts the bytes that the kernels of this module read and write. How often a step passes over a
// row is a measure that does not depend on any clock (docs/measuring.md).

#include <array>
#include <cstddef>
#include <cstdint>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Categories of kernels: weighted sums (`mixing`), means along the tree (`mean`), optimizers
/// (`update`), conversions to and from 16 bits (`codec`), norms and moments (`statistics`), and all
/// others (`plain`).
enum class Kernel : uint8_t { mixing, mean, update, codec, statistics, plain };
inline constexpr size_t kKernels = 6;

/// Bytes of rows that kernels read and wrote. Each byte counts once per kernel, whatever the caches
/// hold.
struct Traffic {
    int64_t read = 0, written = 0;
};

/// Traffic of the kernels that this thread has called, by category.
constinit inline thread_local std::array<Traffic, kKernels> traffic{};

/// Returns the sum over all categories.
inline Traffic total(const std::array<Traffic, kKernels>& kinds) {
    Traffic sum;
    for (const Traffic& kind : kinds) {
        sum.read += kind.read;
        sum.written += kind.written;
    }
    return sum;
}

/// Counts one kernel that reads `read` bytes and writes `written` bytes.
inline void count_bytes(int64_t read, int64_t written, Kernel kernel = Kernel::plain) {
    Traffic& kind = traffic[static_cast<size_t>(kernel)];
    kind.read += read;
    kind.written += written;
}

/// Counts one kernel that reads `read` rows and writes `written` rows in `columns`.
inline void count_passes(DType type, Columns columns, int64_t read, int64_t written,
                         Kernel kernel = Kernel::plain) {
    const int64_t row = columns.count() * size_of(type);
    count_bytes(read * row, written * row, kernel);
}

}  // namespace dbench::arena
