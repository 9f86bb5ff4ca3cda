#pragma once
// The checksum of HDF5's metadata: Bob Jenkins' lookup3 ("hashlittle", initial value 0, public
// domain, burtleburtle.net/bob/c/lookup3.c).

#include <bit>
#include <cstdint>
#include <span>

namespace dbench::profile {

inline uint32_t lookup3(std::span<const unsigned char> bytes) {
    using std::rotl;
    uint32_t a = 0xdeadbeef + static_cast<uint32_t>(bytes.size()), b = a, c = a;
    const auto word = [&](size_t at) {  // Little endian; zeros beyond the end.
        uint32_t value = 0;
        for (size_t k = 0; k < 4 && at + k < bytes.size(); ++k) {
            value |= static_cast<uint32_t>(bytes[at + k]) << (8 * k);
        }
        return value;
    };
    const auto add = [&] { a += word(0), b += word(4), c += word(8); };
    while (bytes.size() > 12) {
        add();
        a -= c, a ^= rotl(c, 4), c += b;
        b -= a, b ^= rotl(a, 6), a += c;
        c -= b, c ^= rotl(b, 8), b += a;
        a -= c, a ^= rotl(c, 16), c += b;
        b -= a, b ^= rotl(a, 19), a += c;
        c -= b, c ^= rotl(b, 4), b += a;
        bytes = bytes.subspan(12);
    }
    if (bytes.empty()) return c;
    add();
    c ^= b, c -= rotl(b, 14);
    a ^= c, a -= rotl(c, 11);
    b ^= a, b -= rotl(a, 25);
    c ^= b, c -= rotl(b, 16);
    a ^= c, a -= rotl(c, 4);
    b ^= a, b -= rotl(a, 14);
    c ^= b, c -= rotl(b, 24);
    return c;
}

}  // namespace dbench::profile
