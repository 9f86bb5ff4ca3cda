#pragma once
// What the kernels of this room read and write, counted: how often a step passes over a row is a
// number that no clock disturbs (docs/measuring.md).

#include <array>
#include <cstddef>
#include <cstdint>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Kinds of kernels: weighted sums, means along the tree, optimizers, conversions to and from 16
/// bits, norms and moments, and all others.
enum class Kernel : uint8_t { mixing, mean, update, codec, statistics, plain };
inline constexpr size_t kKernels = 6;

/// Bytes of rows, each counted once a kernel, whatever the caches hold.
struct Traffic {
    int64_t read = 0, written = 0;
};

/// Of the kernels that this thread has called, by their kind.
constinit inline thread_local std::array<Traffic, kKernels> traffic{};

/// Those of all kinds.
inline Traffic total(const std::array<Traffic, kKernels>& kinds) {
    Traffic sum;
    for (const Traffic& kind : kinds) {
        sum.read += kind.read;
        sum.written += kind.written;
    }
    return sum;
}

/// A kernel reads and writes so many bytes.
inline void count_bytes(int64_t read, int64_t written, Kernel kernel = Kernel::plain) {
    Traffic& kind = traffic[static_cast<size_t>(kernel)];
    kind.read += read;
    kind.written += written;
}

/// A kernel reads and writes so many rows in `columns`.
inline void count_passes(DType type, Columns columns, int64_t read, int64_t written,
                         Kernel kernel = Kernel::plain) {
    const int64_t row = columns.count() * size_of(type);
    count_bytes(read * row, written * row, kernel);
}

}  // namespace dbench::arena
