#pragma once
// Non-temporal stores: they bypass the CPU caches. Plain stores on processors without them.

#include <cstdint>
#include <cstring>

namespace dbench::arena {

/// Copies `bytes` bytes (0 is allowed) to memory that will not be read soon, with the widest
/// non-temporal stores of the processor. Makes a plain copy if `to` is not a multiple of 64.
void copy_bytes_non_temporal(const void* from, void* to, int64_t bytes);
/// Makes the non-temporal stores of this thread visible to other threads.
void non_temporal_fence();

/// Copies `count` elements with copy_bytes_non_temporal.
template <class T>
void copy_non_temporal(const T* from, T* to, int64_t count) {
    copy_bytes_non_temporal(from, to, count * static_cast<int64_t>(sizeof(T)));
}

}  // namespace dbench::arena
