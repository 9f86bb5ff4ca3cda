#include "arena/non_temporal.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dbench::arena {

#if defined(__x86_64__)
namespace {

constexpr int64_t kLine = 64;

// One loop per store width. The compiler has no portable non-temporal store, and with narrow stores
// their number, not memory bandwidth, limits the speed.
__attribute__((target("avx512f"))) void lines_512(const char* from, char* to, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += kLine) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
    }
}

__attribute__((target("avx"))) void lines_256(const char* from, char* to, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 32) {
        const auto* source = reinterpret_cast<const __m256i*>(from + at);
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at), _mm256_loadu_si256(source));
    }
}

void lines_128(const char* from, char* to, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 16) {
        const auto* source = reinterpret_cast<const __m128i*>(from + at);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(source));
    }
}

using Lines = void (*)(const char*, char*, int64_t);
const Lines lines = __builtin_cpu_supports("avx512f") ? lines_512
                    : __builtin_cpu_supports("avx")   ? lines_256
                                                      : lines_128;

}  // namespace

void copy_bytes_non_temporal(const void* from, void* to, int64_t bytes) {
    const auto* const source = static_cast<const char*>(from);
    auto* const target = static_cast<char*>(to);
    const int64_t whole = reinterpret_cast<uintptr_t>(to) % kLine == 0 ? bytes / kLine * kLine : 0;
    lines(source, target, whole);
    if (bytes > whole) std::memcpy(target + whole, source + whole, bytes - whole);
}

void non_temporal_fence() { _mm_sfence(); }
#else
void copy_bytes_non_temporal(const void* from, void* to, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

void non_temporal_fence() {}
#endif

}  // namespace dbench::arena
