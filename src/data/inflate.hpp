#pragma once
// Deflated bytes (RFC 1951) whose unpacked size is known.

#include <cstdint>
#include <string>
#include <string_view>

namespace dbench::data {

enum class Packing : uint8_t { raw, zlib };  ///< alone (ZIP), or in zlib's frame (PNG)

/// Whether `packed` unpacks to exactly `size` bytes, which are then in `out`.
bool inflate_exactly(std::string_view packed, uint64_t size, Packing packing, std::string& out);

}  // namespace dbench::data
