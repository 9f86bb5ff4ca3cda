#pragma once  // Private to arena/grid.
// Packs of adjacent elements. A thread of a device reads and writes several elements at once:
// memory then handles one request of 16 bytes instead of four requests of 4 bytes. A kernel writes
// x[c] in both cases: c is the index of one element, or a PackIndex.

#include <cmath>
#include <cstdint>
#include <cstring>
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
    friend DBENCH_INLINE Pack smaller(Pack a, Pack b) {
        return each(a, b, [](T x, T y) DBENCH_INLINE_LAMBDA { return x < y ? x : y; });
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
/// Returns a if it is smaller than b, else b. This also holds if one of them is a NaN.
DBENCH_INLINE float smaller(float a, float b) { return a < b ? a : b; }
DBENCH_INLINE double smaller(double a, double b) { return a < b ? a : b; }

/// Returns c, but hides its origin from nvcc. nvcc otherwise decomposes the expressions that it can
/// compute an address from and no longer sees that four stores are adjacent.
DBENCH_INLINE int opaque_index(int c) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
    asm("" : "+r"(c));
#endif
    return c;
}

DBENCH_INLINE double as_doubles(float value) { return value; }
DBENCH_INLINE double as_doubles(double value) { return value; }
template <class T, int kCount>
DBENCH_INLINE Pack<double, kCount> as_doubles(Pack<T, kCount> values) {
    Pack<double, kCount> out;
    DBENCH_UNROLL
    for (int k = 0; k < kCount; ++k) out.of[k] = values.of[k];
    return out;
}

/// True if a pack may begin at this address.
template <class T>
DBENCH_INLINE bool begins_pack(const T* at) {
    return reinterpret_cast<uintptr_t>(at) % 16 == 0;
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

/// Reads the first `count` of kCount adjacent numbers from any address; the others become 0. Reads
/// packs if the address allows it.
template <class T, int kCount>
DBENCH_INLINE void load_some(const T* from, int count, T (&values)[kCount]) {
    constexpr int kPack = 16 / static_cast<int>(sizeof(T));
    static_assert(kCount % kPack == 0);
    if (count >= kCount && begins_pack(from)) {
        DBENCH_UNROLL
        for (int j = 0; j < kCount; j += kPack) {
            const Pack<T, kPack> pack = *reinterpret_cast<const Pack<T, kPack>*>(from + j);
            DBENCH_UNROLL
            for (int k = 0; k < kPack; ++k) values[j + k] = pack.of[k];
        }
        return;
    }
    DBENCH_UNROLL
    for (int j = 0; j < kCount; ++j) {
        values[j] = T{};
        if (j < count) std::memcpy(&values[j], from + j, sizeof(T));
    }
}
/// Writes the first `count` of kCount adjacent numbers to any address.
template <class T, int kCount>
DBENCH_INLINE void store_some(const T (&values)[kCount], int count, void* to) {
    constexpr int kPack = 16 / static_cast<int>(sizeof(T));
    static_assert(kCount % kPack == 0);
    if (count >= kCount && begins_pack(static_cast<const T*>(to))) {
        DBENCH_UNROLL
        for (int j = 0; j < kCount; j += kPack) {
            Pack<T, kPack> pack;
            DBENCH_UNROLL
            for (int k = 0; k < kPack; ++k) pack.of[k] = values[j + k];
            static_cast<Pack<T, kPack>*>(to)[j / kPack] = pack;
        }
        return;
    }
    DBENCH_UNROLL
    for (int j = 0; j < kCount; ++j) {
        if (j < count) std::memcpy(static_cast<T*>(to) + j, &values[j], sizeof(T));
    }
}

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
