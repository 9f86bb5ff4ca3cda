#pragma once  // Private to arena/grid.
// Packs of adjacent elements. A thread of a device reads and writes several elements at once:
// memory then handles one request of 16 bytes instead of four requests of 4 bytes. A kernel writes
// x[c] in both cases: c is the index of one element, or a PackIndex.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arena/loops.hpp"

namespace dbench::arena {

/// The index of a pack of kCount elements. `first` is the index of the first element, a multiple of
/// kCount.
template <int kCount>
struct PackIndex {
    int first;
    friend DBENCH_INLINE PackIndex operator+(int64_t offset, PackIndex c) {
        return {static_cast<int>(offset) + c.first};
    }
};

/// The values of a pack. Every operation computes each element as it would be computed alone.
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

/// Returns a if it is larger than b, else b. This also holds if one of them is a NaN.
DBENCH_INLINE float larger(float a, float b) { return a > b ? a : b; }
DBENCH_INLINE double larger(double a, double b) { return a > b ? a : b; }

/// Returns c, but hides its origin from nvcc. nvcc otherwise decomposes the expressions that it can
/// compute an address from and no longer sees that four stores are adjacent.
DBENCH_INLINE int opaque_index(int c) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
    asm("" : "+r"(c));
#endif
    return c;
}

/// An array that begins at a multiple of 16 bytes and can be indexed by elements and by packs.
template <class T>
class Elements {
public:
    Elements() = default;
    DBENCH_INLINE Elements(T* first) : first_(first) {}

    DBENCH_INLINE T& operator[](int64_t c) const { return first_[c]; }
    template <int kCount>
    DBENCH_INLINE auto operator[](PackIndex<kCount> c) const {
        if constexpr (std::is_const_v<T>) {
            return *reinterpret_cast<const Pack<std::remove_const_t<T>, kCount>*>(first_ + c.first);
        } else {
            return Slot<kCount>{reinterpret_cast<Pack<T, kCount>*>(first_ + opaque_index(c.first))};
        }
    }

private:
    /// Reads and writes a pack as a whole: compilers issue several requests if its parts are used.
    template <int kCount>
    struct Slot {
        Pack<T, kCount>* at;
        DBENCH_INLINE operator Pack<T, kCount>() const { return *at; }
        DBENCH_INLINE void operator=(Pack<T, kCount> value) const { *at = value; }
    };

    T* first_ = nullptr;
};

/// Minimum number of blocks of a kernel with packs that run on a multiprocessor at a time: enough
/// pending requests to keep the memory busy, and few enough that there are registers for all
/// blocks.
template <class T>
inline constexpr int kMinBlocksOfPacks = sizeof(T) > 4 ? 2 : 3;

/// The type of x[c] for elements T: T, or a pack if `Place` is a PackIndex.
template <class T, class Place>
struct ValueAt {
    using Type = T;
};
template <class T, int kCount>
struct ValueAt<T, PackIndex<kCount>> {
    using Type = Pack<T, kCount>;
};
template <class T, class Place>
using Value = typename ValueAt<T, Place>::Type;

}  // namespace dbench::arena
