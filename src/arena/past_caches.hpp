#pragma once
// Stores that go past the caches, where the processor has them.

#include <cstdint>
#include <cstring>

namespace dbench::arena {

/// Copies `bytes`, of which there may be none, to memory that will not be read soon; a plain copy
/// where `to` is not a multiple of 64. By the widest stores that the processor has.
void stream_past_caches(const void* from, void* to, int64_t bytes);
/// Makes them visible to other threads.
void finish_past_caches();

template <class T>
void copy_past_caches(const T* from, T* to, int64_t count) {
    stream_past_caches(from, to, count * static_cast<int64_t>(sizeof(T)));
}

}  // namespace dbench::arena
