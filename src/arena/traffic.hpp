#pragma once
// What the kernels of this room read and write, counted: how often a step passes over a row is a
// number that no clock disturbs (docs/measuring.md).

#include <cstdint>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Bytes of rows, each counted once a kernel, whatever the caches hold.
struct Traffic {
    int64_t read = 0, written = 0;
};

/// Of the kernels that this thread has called.
constinit inline thread_local Traffic traffic;

/// A kernel reads and writes so many bytes.
inline void count_bytes(int64_t read, int64_t written) {
    traffic.read += read;
    traffic.written += written;
}

/// A kernel reads and writes so many rows in `columns`.
inline void count_passes(DType type, Columns columns, int64_t read, int64_t written) {
    const int64_t row = columns.count() * size_of(type);
    count_bytes(read * row, written * row);
}

}  // namespace dbench::arena
