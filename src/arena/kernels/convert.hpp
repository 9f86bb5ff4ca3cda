#pragma once
// 16-bit forms of elements (codec.hpp of this room): a block for so many elements.

#include <bit>

#include "arena/codec.hpp"
#include "arena/kernels/block.hpp"

namespace dbench::arena {

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

/// Words of elements.
struct Encode {
    template <class Form, class T>
    static DBENCH_INLINE uint16_t of(T x) {
        return Form::encode(static_cast<float>(x));
    }
};
/// Elements of words.
struct Decode {
    template <class Form>
    static DBENCH_INLINE float of(uint16_t h) {
        return Form::decode(h);
    }
};
struct Quantize {
    template <class Form, class T>
    static DBENCH_INLINE float of(T x) {
        return Form::decode(Encode::of<Form>(x));
    }
};

template <class Element, class From, class To>
struct Convert {
    static constexpr int64_t kWidth = 4096;

    Codec codec;
    const From* from;
    To* to;
    int64_t count;

    constexpr int64_t blocks() const { return (count + kWidth - 1) / kWidth; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t begin = index * kWidth, end = std::min(begin + kWidth, count);
        const int64_t here = end - begin;
        const From* const x = from + begin;
        To* const out = to + begin;
        if (codec == Codec::bfloat16) {
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                out[c] = Element::template of<Bfloat16>(x[c]);
            });
        } else {
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                out[c] = Element::template of<Float16>(x[c]);
            });
        }
    }
};

}  // namespace dbench::arena
