#pragma once
// How the element loops of this room are compiled. A loop is a DBENCH_INLINE template called by a
// DBENCH_CLONES function per element type; the compiler makes one body per instruction set and the
// program picks at start, so that a portable build runs as fast as one made for its machine.
// Without contraction into fused multiply-adds (a flag of the whole build) all bodies, their vector
// parts and their tails round alike: results depend neither on the body nor on where columns are
// cut.

#include <cstdint>

#include "base/inline.hpp"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DBENCH_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DBENCH_CLONES
#endif

// Promises that iterations of the next loop are independent: arrays may be the same, never shifted.
#if defined(__clang__)
#define DBENCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DBENCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Unrolls the next loop, of a few iterations.
#if defined(__CUDACC__)
#define DBENCH_UNROLL _Pragma("unroll")
#else
#define DBENCH_UNROLL _Pragma("GCC unroll 8")
#endif

namespace dbench::arena {

/// The most columns that a tiled pass takes at a time.
inline constexpr int64_t kTile = 512;

/// Columns of a tile where `rows` rows are read together: this tile, the next one on its way and
/// the results stay in the first cache (in the second for very many rows). A multiple of 64.
constexpr int64_t tile_width(int64_t rows, int64_t element_size) {
    constexpr int64_t kBytes = 8 * 1024;
    const int64_t fits = kBytes / element_size / (rows < 1 ? 1 : rows) / 64 * 64;
    return fits < 64 ? 64 : fits > kTile ? kTile : fits;
}

/// The same where a device's block makes `rows` rows of a tile of columns: so many elements that
/// its threads have enough to do, and as many columns side by side as memory gives at a time.
constexpr int64_t device_tile_width(int64_t rows) {
    constexpr int64_t kElements = 8 * 1024, kLeast = 16, kMost = 1024;
    const int64_t fits = kElements / (rows < 1 ? 1 : rows) / kLeast * kLeast;
    return fits < kLeast ? kLeast : fits > kMost ? kMost : fits;
}

/// Asks for `count` elements from `data` on; a hardware prefetcher gives up where many rows are
/// walked at once. Addresses outside of a buffer are harmless.
template <class T>
DBENCH_INLINE void prefetch(const T* data, int64_t count) {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t c = 0; c < count; c += kLine) __builtin_prefetch(data + c, 0, 3);
}

}  // namespace dbench::arena
