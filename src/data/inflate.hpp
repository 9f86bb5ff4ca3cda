#pragma once
// Unpacking deflated bytes (RFC 1951) whose unpacked size is known.

#include <cstdint>
#include <string>
#include <string_view>

namespace dbench::data {

enum class Packing : uint8_t {
    raw,
    zlib
};  ///< Without a frame (ZIP), or in the frame of zlib (PNG).

/// Unpacks `packed` to `out`. Returns true if it unpacks to exactly `size` bytes.
bool inflate_exactly(std::string_view packed, uint64_t size, Packing packing, std::string& out);

}  // namespace dbench::data
