#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC11; philox.hpp). A
// stream is named by a key, so that any rank draws the same numbers for the same purpose in any
// order.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dbench::base {

/// What a stream is for; streams of different purposes are independent. Values are part of the
/// results' reproducibility: append, never renumber.
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
};

class Random {
public:
    /// The stream of (seed, purpose, words...), for example (seed, augment, epoch, sample).
    Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> words = {});

    uint32_t bits();             ///< 32 uniform bits
    uint64_t bits64();           ///< 64 uniform bits
    double uniform();            ///< uniform in [0, 1), 53 bits
    uint64_t below(uint64_t n);  ///< uniform in 0..n-1, unbiased; n >= 1
    double normal();             ///< standard normal (Box-Muller)

    /// Of the stream: its numbers are those of block_of(key(), 0), (.., 1) and so on (philox.hpp).
    uint64_t key() const { return key_; }

private:
    std::array<uint32_t, 4> block_{};
    uint64_t key_;
    uint64_t counter_ = 0;
    int left_ = 0;
    double spare_ = 0;
    bool has_spare_ = false;
};

/// A uniformly random permutation of 0..n-1 (Fisher-Yates).
std::vector<int64_t> permutation(int64_t n, Random& random);

}  // namespace dbench::base
