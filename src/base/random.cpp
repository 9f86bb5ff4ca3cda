#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/philox.hpp"

namespace dbench::base {
Random::Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> words) : key_(seed) {
    uint32_t position = 1;
    key_ = child_key(key_, 0, static_cast<uint32_t>(purpose), 0);
    for (const uint64_t word : words) {
        key_ = child_key(key_, word, static_cast<uint32_t>(purpose), position++);
    }
}

uint32_t Random::bits() {
    if (left_ == 0) {
        const PhiloxBlock block = block_of(key_, counter_++);
        std::copy_n(block.word, 4, block_.begin());
        left_ = 4;
    }
    return block_[4 - left_--];
}

uint64_t Random::bits64() {
    const uint64_t low = bits();
    return low | (static_cast<uint64_t>(bits()) << 32);
}

double Random::uniform() {
    const uint32_t low = bits();
    return uniform_of(low, bits());
}

uint64_t Random::below(uint64_t n) {
    // Rejection makes the result unbiased: draws below 2^64 mod n are discarded.
    const uint64_t threshold = (0 - n) % n;
    for (;;) {
        const uint64_t draw = bits64();
        if (draw >= threshold) return draw % n;
    }
}

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
}

std::vector<int64_t> permutation(int64_t n, Random& random) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), int64_t{0});
    for (int64_t i = n - 1; i > 0; --i) {
        std::swap(order[i], order[random.below(static_cast<uint64_t>(i) + 1)]);
    }
    return order;
}

}  // namespace dbench::base
