#pragma once
// Counter-based random numbers by Philox4x32-10 (Salmon et al., SC11; philox.hpp). A key names a
// stream, so any rank draws the same numbers for the same purpose, in any order. Purposes with
// several streams number them in streams.hpp.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dbench::base {

/// The purposes of streams; streams of different purposes are independent. Results depend on the
/// values: append new ones, and never change or reuse one.
enum class Purpose : uint32_t {
    init = 1,
    shuffle = 2,
    partition = 3,
    augment = 4,
    graph = 5,
    shapes = 6,
    regression = 7,
    dropout = 8,
    placement = 9,
    participation = 10,
    message = 11,
    delay = 12,
    compute_time = 13,
    neighbour = 14,
    link_time = 15,
    recalibration = 16,
};

class Random {
public:
    /// Opens the stream of (seed, purpose, words...), for example (seed, augment, epoch, sample).
    Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> words = {});

    uint32_t bits();             ///< 32 uniform bits.
    uint64_t bits64();           ///< 64 uniform bits.
    double uniform();            ///< Uniform in [0, 1), with 53 bits.
    uint64_t below(uint64_t n);  ///< Uniform in 0..n-1, unbiased; n >= 1.
    double normal();             ///< Standard normal (Box-Muller).

    /// Returns the key of the stream, whose numbers are those of block_of(key(), 0),
    /// block_of(key(), 1) and so on (philox.hpp).
    uint64_t key() const { return key_; }

private:
    std::array<uint32_t, 4> block_{};
    uint64_t key_;
    uint64_t counter_ = 0;
    int left_ = 0;
    double spare_ = 0;
    bool has_spare_ = false;
};

/// Returns a uniformly random permutation of 0..n-1 (Fisher-Yates).
std::vector<int64_t> permutation(int64_t n, Random& random);

}  // namespace dbench::base
