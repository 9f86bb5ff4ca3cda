#pragma once
// 16-bit forms of elements, for messages: what neighbours read is Q(x), whoever holds it.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// How an element travels: as it is; as bfloat16 (8 bits of precision, float32's range); as IEEE
/// float16 (11 bits, up to 65504: what is larger becomes infinite). Rounded to nearest, ties to
/// even, from float32 (float64 is rounded to that first); a NaN stays one.
enum class Codec : uint8_t { identity, bfloat16, float16 };

/// Bytes of an element on its way.
constexpr int64_t size_of(Codec codec, DType type) {
    return codec == Codec::identity ? size_of(type) : 2;
}

/// `count` elements of `from` as 16-bit words. The codec is not the identity.
void encode(Codec codec, DType type, const void* from, uint16_t* to, int64_t count,
            Queue* queue = nullptr);
void decode(Codec codec, DType type, const uint16_t* from, void* to, int64_t count,
            Queue* queue = nullptr);
/// Q(x): encoded and decoded. `to` may be `from`.
void quantize(Codec codec, DType type, const void* from, void* to, int64_t count,
              Queue* queue = nullptr);

}  // namespace dbench::arena
