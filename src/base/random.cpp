#include "base/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace dbench::base {
namespace {

std::array<uint32_t, 4> philox(uint64_t key, std::array<uint32_t, 4> counter) {
    const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
    const r123::Philox4x32::key_type k = {
        {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
    const auto out = r123::Philox4x32{}(c, k);
    return {out[0], out[1], out[2], out[3]};
}

// The key of a child stream: one Philox block of the parent key, counted by the word.
uint64_t child(uint64_t key, uint64_t word, uint32_t purpose, uint32_t position) {
    const auto out = philox(
        key, {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32), purpose, position});
    return out[0] | (static_cast<uint64_t>(out[1]) << 32);
}

}  // namespace

Random::Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> words) : key_(seed) {
    uint32_t position = 1;
    key_ = child(key_, 0, static_cast<uint32_t>(purpose), 0);
    for (const uint64_t word : words) {
        key_ = child(key_, word, static_cast<uint32_t>(purpose), position++);
    }
}

uint32_t Random::bits() {
    if (left_ == 0) {
        block_ = philox(
            key_, {static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), 0, 0});
        ++counter_;
        left_ = 4;
    }
    return block_[4 - left_--];
}

uint64_t Random::bits64() {
    const uint64_t low = bits();
    return low | (static_cast<uint64_t>(bits()) << 32);
}

double Random::uniform() { return static_cast<double>(bits64() >> 11) * 0x1p-53; }

uint64_t Random::below(uint64_t n) {
    // Rejection keeps it unbiased: draws below 2^64 mod n are thrown away.
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
