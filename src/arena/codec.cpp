#include "arena/codec.hpp"

#include <bit>

#include "arena/loops.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

// Without branches: each is a handful of vector instructions.

struct Bfloat16 {
    static DBENCH_INLINE uint16_t encode(float x) {
        const auto u = std::bit_cast<uint32_t>(x);
        const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
        const uint32_t nan = (u >> 16) | 0x40;
        return static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
    }
    static DBENCH_INLINE float decode(uint16_t h) {
        return std::bit_cast<float>(static_cast<uint32_t>(h) << 16);
    }
};

struct Float16 {
    static constexpr uint32_t kInfinity = 0x7f800000;  // of float32
    static constexpr uint32_t kOverflow = 0x47800000;  // 2^16
    static constexpr uint32_t kNormal = 0x38800000;    // 2^-14: below, float16 is subnormal
    static constexpr uint32_t kRebias = 112u << 23;    // exponent bias 127 against 15
    static constexpr uint32_t kHalf = 0x3f000000;      // 0.5: its last bit weighs 2^-24

    static DBENCH_INLINE uint16_t encode(float x) {
        const auto u = std::bit_cast<uint32_t>(x);
        const uint32_t sign = u & 0x80000000, a = u ^ sign;
        const uint32_t beyond = a > kInfinity ? 0x7e00 : 0x7c00;
        // The addition of 0.5 rounds a subnormal at its last bit.
        const uint32_t subnormal =
            std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(kHalf)) - kHalf;
        const uint32_t normal = (a - kRebias + 0xfff + ((a >> 13) & 1)) >> 13;
        const uint32_t finite = a < kNormal ? subnormal : normal;
        return static_cast<uint16_t>((a >= kOverflow ? beyond : finite) | (sign >> 16));
    }
    static DBENCH_INLINE float decode(uint16_t h) {
        const uint32_t a = static_cast<uint32_t>(h & 0x7fff) << 13;
        const uint32_t exponent = a & (0x7c00u << 13);
        // One exponent more and 2^-14 less makes a subnormal's leading zeros right.
        const float subnormal = std::bit_cast<float>(a + kNormal) - std::bit_cast<float>(kNormal);
        const uint32_t beyond = a | kInfinity;
        const uint32_t normal = exponent == (0x7c00u << 13) ? beyond : a + kRebias;
        const uint32_t finite = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
        return std::bit_cast<float>(finite | static_cast<uint32_t>(h & 0x8000) << 16);
    }
};

template <class Form>
struct Encode {
    template <class T>
    static DBENCH_INLINE uint16_t of(T x) {
        return Form::encode(static_cast<float>(x));
    }
};
template <class Form>
struct Decode {
    static DBENCH_INLINE float of(uint16_t h) { return Form::decode(h); }
};
template <class Form>
struct Quantize {
    template <class T>
    static DBENCH_INLINE float of(T x) {
        return Form::decode(Encode<Form>::of(x));
    }
};

template <class Element, class From, class To>
DBENCH_INLINE void convert_body(const From* from, To* to, int64_t count) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) to[c] = Element::of(from[c]);
}

template <template <class> class Element, class From, class To>
DBENCH_INLINE void convert(Codec codec, const From* from, To* to, int64_t count) {
    if (codec == Codec::bfloat16) return convert_body<Element<Bfloat16>>(from, to, count);
    convert_body<Element<Float16>>(from, to, count);
}

DBENCH_CLONES void encode(Codec codec, const float* from, uint16_t* to, int64_t count) {
    convert<Encode>(codec, from, to, count);
}
DBENCH_CLONES void encode(Codec codec, const double* from, uint16_t* to, int64_t count) {
    convert<Encode>(codec, from, to, count);
}
DBENCH_CLONES void decode(Codec codec, const uint16_t* from, float* to, int64_t count) {
    convert<Decode>(codec, from, to, count);
}
DBENCH_CLONES void decode(Codec codec, const uint16_t* from, double* to, int64_t count) {
    convert<Decode>(codec, from, to, count);
}
DBENCH_CLONES void quantize(Codec codec, const float* from, float* to, int64_t count) {
    convert<Quantize>(codec, from, to, count);
}
DBENCH_CLONES void quantize(Codec codec, const double* from, double* to, int64_t count) {
    convert<Quantize>(codec, from, to, count);
}

}  // namespace

void encode(Codec codec, DType type, const void* from, uint16_t* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_bytes(count * size_of(type), count * size_of(codec, type));
    with_type(type, [&]<class T>() { encode(codec, static_cast<const T*>(from), to, count); });
}

void decode(Codec codec, DType type, const uint16_t* from, void* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_bytes(count * size_of(codec, type), count * size_of(type));
    with_type(type, [&]<class T>() { decode(codec, from, static_cast<T*>(to), count); });
}

void quantize(Codec codec, DType type, const void* from, void* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_passes(type, {0, count}, 1, 1);
    with_type(type, [&]<class T>() {
        quantize(codec, static_cast<const T*>(from), static_cast<T*>(to), count);
    });
}

}  // namespace dbench::arena
