#pragma once
// Elements side by side. A thread of a device reads and writes some of them at once: memory takes
// one request of 16 bytes where it took four of 4. A kernel says x[c] in both cases; c is the
// number of an element, or a place of several.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arena/loops.hpp"

namespace dbench::arena {

/// A place of so many elements, the first of which is number `first`, a multiple of kCount.
template <int kCount>
struct PlaceOf {
    int first;
    friend DBENCH_INLINE PlaceOf operator+(int64_t offset, PlaceOf c) {
        return {static_cast<int>(offset) + c.first};
    }
};

/// Their values; each is computed as it would be alone.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
    T of[kCount];

    Pack() = default;
    DBENCH_INLINE Pack(T all) {
        DBENCH_UNROLL
        for (int k = 0; k < kCount; ++k) of[k] = all;
    }

    friend DBENCH_INLINE Pack operator+(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x + y; });
    }
    friend DBENCH_INLINE Pack operator-(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x - y; });
    }
    friend DBENCH_INLINE Pack operator*(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x * y; });
    }
    friend DBENCH_INLINE Pack operator/(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x / y; });
    }
    friend DBENCH_INLINE Pack& operator+=(Pack& a, Pack b) { return a = a + b; }
    friend DBENCH_INLINE Pack sqrt(Pack a) {
        return each(a, a, [](T x, T) DBENCH_INLINE_LAMBDA { return std::sqrt(x); });
    }
    friend DBENCH_INLINE Pack larger(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x > y ? x : y; });
    }

private:
    template <class Rule>
    static DBENCH_INLINE Pack each(Pack a, Pack b, const Rule& rule) {
        Pack out;
        DBENCH_UNROLL
        for (int k = 0; k < kCount; ++k) out.of[k] = rule(a.of[k], b.of[k]);
        return out;
    }
};

/// a where it is larger than b, else b: also where one of them is no number.
DBENCH_INLINE float larger(float a, float b) { return a > b ? a : b; }
DBENCH_INLINE double larger(double a, double b) { return a > b ? a : b; }

/// nvcc takes apart what it can compute an address from, and then does not see any more that four
/// stores lie side by side: this it leaves alone.
DBENCH_INLINE int kept_whole(int c) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
    asm("" : "+r"(c));
#endif
    return c;
}

/// An array of elements that begins at a multiple of 16 bytes, and of as many elements as a place
/// has.
template <class T>
class Elements {
public:
    Elements() = default;
    DBENCH_INLINE Elements(T* first) : first_(first) {}

    DBENCH_INLINE T& operator[](int64_t c) const { return first_[c]; }
    template <int kCount>
    DBENCH_INLINE auto operator[](PlaceOf<kCount> c) const {
        if constexpr (std::is_const_v<T>) {
            return *reinterpret_cast<const Pack<std::remove_const_t<T>, kCount>*>(first_ + c.first);
        } else {
            return Slot<kCount>{reinterpret_cast<Pack<T, kCount>*>(first_ + kept_whole(c.first))};
        }
    }

private:
    /// Read and written as a whole: compilers make several requests of what is used in parts.
    template <int kCount>
    struct Slot {
        Pack<T, kCount>* at;
        DBENCH_INLINE operator Pack<T, kCount>() const { return *at; }
        DBENCH_INLINE void operator=(Pack<T, kCount> value) const { *at = value; }
    };

    T* first_ = nullptr;
};

/// Blocks of a kernel of packs that a device's processor is to take at once: that many have so
/// much under way that its memory is busy, and registers for it.
template <class T>
inline constexpr int kBlocksOfPacks = sizeof(T) > 4 ? 2 : 3;

/// What x[c] is of elements T: one, or several.
template <class T, class Place>
struct ValueAt {
    using Type = T;
};
template <class T, int kCount>
struct ValueAt<T, PlaceOf<kCount>> {
    using Type = Pack<T, kCount>;
};
template <class T, class Place>
using Value = typename ValueAt<T, Place>::Type;

}  // namespace dbench::arena
