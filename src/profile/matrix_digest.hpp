#pragma once
// A number that tells mixing matrices apart without keeping them. Internal to this module.

#include <bit>
#include <cstdint>

namespace dbench::profile {

/// The digest of a matrix's entries, in the order of /graphs. Different matrices have different
/// digests, except with a probability of about 2^-64.
class MatrixDigest {
public:
    /// Adds the entry W[to, from].
    void add(int64_t to, int64_t from, double weight) {
        mix(static_cast<uint64_t>(to));
        mix(static_cast<uint64_t>(from));
        mix(std::bit_cast<uint64_t>(weight));
    }
    uint64_t value() const { return value_; }

private:
    /// Mixes a word into the digest, with the finaliser of SplitMix64.
    void mix(uint64_t word) {
        value_ = (value_ ^ word) + 0x9E3779B97F4A7C15u;
        value_ = (value_ ^ (value_ >> 30)) * 0xBF58476D1CE4E5B9u;
        value_ = (value_ ^ (value_ >> 27)) * 0x94D049BB133111EBu;
        value_ ^= value_ >> 31;
    }

    uint64_t value_ = 0;
};

}  // namespace dbench::profile
