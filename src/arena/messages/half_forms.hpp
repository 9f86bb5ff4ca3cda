#pragma once  // Private to arena/messages.
// The two 16-bit encodings of one element.

#include <bit>
#include <cstdint>

#include "arena/loops.hpp"
#include "arena/messages/element_codec.hpp"

namespace dbench::arena {

// The functions have no branches: each is a handful of vector instructions.

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
    static constexpr uint32_t kInfinity = 0x7f800000;  // Infinity in float32.
    static constexpr uint32_t kOverflow = 0x47800000;  // 2^16
    static constexpr uint32_t kNormal = 0x38800000;    // 2^-14: smaller values are subnormal in
                                                       // float16.
    static constexpr uint32_t kRebias = 112u << 23;  // Difference of the exponent biases, 127 - 15.
    static constexpr uint32_t kHalf = 0x3f000000;    // 0.5: its last bit has the weight 2^-24.

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
        // An exponent increased by one, minus 2^-14, gives the correct leading zeros of a
        // subnormal.
        const float subnormal = std::bit_cast<float>(a + kNormal) - std::bit_cast<float>(kNormal);
        const uint32_t beyond = a | kInfinity;
        const uint32_t normal = exponent == (0x7c00u << 13) ? beyond : a + kRebias;
        const uint32_t finite = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
        return std::bit_cast<float>(finite | static_cast<uint32_t>(h & 0x8000) << 16);
    }
};

/// Calls `work.template operator()<Form>()` with the codec's encoding. The codec must not be the
/// identity.
template <class Work>
DBENCH_INLINE void with_form(ElementCodec codec, const Work& work) {
    if (codec == ElementCodec::bfloat16) return work.template operator()<Bfloat16>();
    work.template operator()<Float16>();
}

}  // namespace dbench::arena
