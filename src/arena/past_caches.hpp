#pragma once
// Stores that go past the caches, where the processor has them.

#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dbench::arena {

/// Copies `count` elements to memory that will not be read soon. `to` is usually a multiple of 64
/// bytes; where it is not, this is a plain copy.
template <class T>
void copy_past_caches(const T* from, T* to, int64_t count) {
    int64_t c = 0;
#ifdef __SSE2__
    constexpr int64_t kAtOnce = sizeof(__m128i) / sizeof(T);
    if (reinterpret_cast<uintptr_t>(to) % sizeof(__m128i) == 0) {
        for (; c + kAtOnce <= count; c += kAtOnce) {
            const auto* source = reinterpret_cast<const __m128i*>(from + c);
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + c), _mm_loadu_si128(source));
        }
    }
#endif
    std::memcpy(to + c, from + c, static_cast<size_t>(count - c) * sizeof(T));
}

/// Makes such elements visible to other threads.
inline void finish_past_caches() {
#ifdef __SSE2__
    _mm_sfence();
#endif
}

}  // namespace dbench::arena
