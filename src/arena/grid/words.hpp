#pragma once
// Loads and stores of numbers in messages. All numbers in messages begin at multiples of 4 bytes.

#include <cstdint>
#include <cstring>

#include "base/inline.hpp"

namespace dbench::arena {

/// Tells nvcc that the address is a multiple of 4. A device has no unaligned loads, so the compiler
/// would load single bytes. The host's compiler must not know the alignment, because it then fails
/// to vectorise.
template <class Bytes>
DBENCH_INLINE Bytes* aligned(Bytes* bytes) {
#if defined(__CUDA_ARCH__)
    return static_cast<Bytes*>(__builtin_assume_aligned(bytes, 4));
#else
    return bytes;
#endif
}

template <class T>
DBENCH_INLINE T load_word(const char* from) {
    T value;
    std::memcpy(&value, aligned(from), sizeof(T));
    return value;
}
template <class T>
DBENCH_INLINE void store_word(char* to, T value) {
    std::memcpy(aligned(to), &value, sizeof(T));
}
template <class T>
DBENCH_INLINE T nth_word(const char* from, int64_t n) {
    return load_word<T>(from + n * static_cast<int64_t>(sizeof(T)));
}
template <class T>
DBENCH_INLINE void set_nth_word(char* to, int64_t n, T value) {
    store_word(to + n * static_cast<int64_t>(sizeof(T)), value);
}

}  // namespace dbench::arena
