#pragma once
// 16-bit encodings of elements, for messages. Every rank that uses a replica's row x in an
// averaging uses the decoded form Q(x), also the rank that owns the replica.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// The encoding of an element in a message. `identity`: unchanged. `bfloat16`: 8 bits of precision
/// and float32's range. `float16`: IEEE, 11 bits of precision, up to 65504; larger values become
/// infinite. Values are rounded from float32 to nearest, ties to even (float64 is first rounded to
/// float32). A NaN remains a NaN.
enum class ElementCodec : uint8_t { identity, bfloat16, float16 };

/// Bytes of an encoded element.
constexpr int64_t size_of(ElementCodec codec, DType type) {
    return codec == ElementCodec::identity ? size_of(type) : 2;
}

/// Encodes `count` elements of `from` as 16-bit words. The codec must not be the identity.
void encode(ElementCodec codec, DType type, const void* from, uint16_t* to, int64_t count,
            Queue& queue = host_queue());
/// Decodes `count` 16-bit words. The codec must not be the identity.
void decode(ElementCodec codec, DType type, const uint16_t* from, void* to, int64_t count,
            Queue& queue = host_queue());
/// Computes Q(x): encodes and decodes. `to` may be `from`.
void quantize(ElementCodec codec, DType type, const void* from, void* to, int64_t count,
              Queue& queue = host_queue());

}  // namespace dbench::arena
