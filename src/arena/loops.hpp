#pragma once
// How the element loops of this room are compiled. A loop is a DBENCH_INLINE template called by a
// DBENCH_CLONES function per element type; the compiler makes one body per instruction set and the
// program picks at start, so that a portable build runs as fast as one made for its machine.
// Without contraction into fused multiply-adds (a flag of the whole build) all bodies, their vector
// parts and their tails round alike: results depend neither on the body nor on where columns are
// cut.

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DBENCH_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DBENCH_CLONES
#endif

#define DBENCH_INLINE __attribute__((always_inline)) inline
#define DBENCH_INLINE_LAMBDA __attribute__((always_inline))

// Promises that iterations of the next loop are independent: arrays may be the same, never shifted.
#if defined(__clang__)
#define DBENCH_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define DBENCH_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace dbench::arena {

/// Columns that a tiled pass takes at a time: a few rows of it fit the first cache.
inline constexpr int64_t kTile = 512;

/// Asks for `count` elements from `data` on; a hardware prefetcher gives up where many rows are
/// walked at once. Addresses outside of a buffer are harmless.
template <class T>
DBENCH_INLINE void prefetch(const T* data, int64_t count) {
    constexpr int64_t kLine = 64 / sizeof(T);
    for (int64_t c = 0; c < count; c += kLine) __builtin_prefetch(data + c, 0, 3);
}

}  // namespace dbench::arena
