#pragma once
// How the element loops of this module are compiled. A loop is a DBENCH_INLINE template that a
// DBENCH_CLONES function calls, one function per element type. The compiler makes one version per
// instruction set and the program selects one at startup, so that a portable build is as fast as a
// build for one machine. The whole build disables contraction into fused multiply-adds. All
// versions, their vector parts and their scalar remainders therefore round alike: results depend
// neither on the version nor on where columns are cut.

#include <cstdint>

#include "base/inline.hpp"

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DBENCH_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DBENCH_CLONES
#endif

// Promises that the iterations of the next loop are independent. Arrays may be identical, but must
// not overlap with a shift.
#if defined(__clang__)
#define DBENCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DBENCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Unrolls the next loop, which must have few iterations.
#if defined(__CUDACC__)
#define DBENCH_UNROLL _Pragma("unroll")
#else
#define DBENCH_UNROLL _Pragma("GCC unroll 8")
#endif

namespace dbench::arena {

/// The largest number of columns in a tile.
inline constexpr int64_t kTile = 512;

/// Returns the width of a tile (columns) if `rows` rows are read together: this tile, the
/// prefetched next tile and the results fit in the first-level cache (in the second-level cache for
/// very many rows). A multiple of 64.
constexpr int64_t tile_width(int64_t rows, int64_t element_size) {
    constexpr int64_t kBytes = 8 * 1024;
    const int64_t fits = kBytes / element_size / (rows < 1 ? 1 : rows) / 64 * 64;
    return fits < 64 ? 64 : fits > kTile ? kTile : fits;
}

/// Returns the width of a tile (columns) if a block of a device computes `rows` rows of it: enough
/// elements to keep the block's threads busy, and enough adjacent columns for full memory
/// transactions.
constexpr int64_t device_tile_width(int64_t rows) {
    constexpr int64_t kElements = 8 * 1024, kLeast = 16, kMost = 1024;
    const int64_t fits = kElements / (rows < 1 ? 1 : rows) / kLeast * kLeast;
    return fits < kLeast ? kLeast : fits > kMost ? kMost : fits;
}

/// Prefetches `count` elements starting at `data`. Hardware prefetchers fail if a loop walks over
/// many rows at once. Addresses outside a buffer are harmless.
template <class T>
DBENCH_INLINE void prefetch(const T* data, int64_t count) {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t c = 0; c < count; c += kLine) __builtin_prefetch(data + c, 0, 3);
}

}  // namespace dbench::arena
