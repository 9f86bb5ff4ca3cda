#pragma once
// The random generator Philox4x32-10 (Salmon et al., SC11, section 3.3), one block at a time, and
// the keys of streams (random.hpp). Kernels that draw one number for each of many elements use it
// directly, because it computes the numbers of any element without those before it.

#include <cstdint>

#include "base/inline.hpp"

namespace dbench::base {

struct PhiloxBlock {
    uint32_t word[4];
};

/// Computes one block. The words are held in 64-bit variables, so that loops over many blocks need
/// no shuffles between vector registers.
DBENCH_INLINE PhiloxBlock philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
    uint64_t x0 = c0, x1 = c1, x2 = c2, x3 = c3;
    auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t p0 = 0xD2511F53ull * static_cast<uint32_t>(x0);
        const uint64_t p1 = 0xCD9E8D57ull * static_cast<uint32_t>(x2);
        x0 = (p1 >> 32) ^ x1 ^ k0;
        x1 = static_cast<uint32_t>(p1);
        x2 = (p0 >> 32) ^ x3 ^ k1;
        x3 = static_cast<uint32_t>(p0);
    }
    return {{static_cast<uint32_t>(x0), static_cast<uint32_t>(x1), static_cast<uint32_t>(x2),
             static_cast<uint32_t>(x3)}};
}

/// Returns block `index` of the stream with key `key`.
DBENCH_INLINE PhiloxBlock block_of(uint64_t key, uint64_t index) {
    return philox(key, static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0);
}

/// Returns the key of a child stream: one block under the parent key, with `word` as the counter.
DBENCH_INLINE uint64_t child_key(uint64_t key, uint64_t word, uint32_t purpose, uint32_t position) {
    const PhiloxBlock out = philox(key, static_cast<uint32_t>(word),
                                   static_cast<uint32_t>(word >> 32), purpose, position);
    return out.word[0] | (static_cast<uint64_t>(out.word[1]) << 32);
}

/// Converts the upper 53 of 64 random bits to a number in [0, 1). It avoids the conversion of a
/// 64-bit integer, which some vector units lack; every step is exact.
DBENCH_INLINE double uniform_of(uint32_t low, uint32_t high) {
    return (static_cast<double>(high) * 0x1p21 +
            static_cast<double>(static_cast<int32_t>(low >> 11))) *
           0x1p-53;
}

}  // namespace dbench::base
