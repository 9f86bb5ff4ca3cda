#pragma once
// The checksum that HDF5's filter fletcher32 appends to a chunk (big-endian words of 16 bits; J.
// Fletcher, An Arithmetic Checksum for Serial Transmissions, 1982).

#include <algorithm>
#include <cstdint>
#include <span>

namespace dbench::profile {

inline uint32_t fletcher32(std::span<const unsigned char> bytes) {
    constexpr size_t kBlock = 360;  // Words after which the sums might overflow.
    uint32_t first = 0, second = 0;
    const auto fold = [](uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
    while (bytes.size() >= 2) {
        const size_t words = std::min(kBlock, bytes.size() / 2);
        for (size_t k = 0; k < words; ++k) {
            first += static_cast<uint32_t>(bytes[2 * k] << 8 | bytes[2 * k + 1]);
            second += first;
        }
        first = fold(first);
        second = fold(second);
        bytes = bytes.subspan(2 * words);
    }
    if (!bytes.empty()) {
        first += static_cast<uint32_t>(bytes[0] << 8);
        second += first;
        first = fold(first);
        second = fold(second);
    }
    return fold(second) << 16 | fold(first);
}

}  // namespace dbench::profile
