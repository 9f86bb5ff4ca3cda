#include "base/random.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "catch.hpp"

namespace dbench::base {
namespace {

using Block = std::array<uint32_t, 4>;

// Philox4x32-10 as defined in its paper (Salmon et al., SC11, section 3.3), independent of the
// library.
Block philox(uint64_t key, Block counter) {
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = 0xD2511F53ull * counter[0], b = 0xCD9E8D57ull * counter[2];
        counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(b),
                   static_cast<uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(a)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return counter;
}

std::vector<uint32_t> first_bits(Random random, int count) {
    std::vector<uint32_t> bits;
    for (int i = 0; i < count; ++i) bits.push_back(random.bits());
    return bits;
}

}  // namespace

TEST_CASE("The reference Philox of this test gives the published vectors") {
    CHECK(philox(0, {0, 0, 0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox(~0ull, {~0u, ~0u, ~0u, ~0u}) ==
          Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox(0x299f31d0a4093822ull, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
          Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("A stream is Philox in counter mode under a key made of seed, purpose and words") {
    const uint64_t seed = 0x0123456789abcdefull, word = 0xfedcba9876543210ull;
    const auto child = [](uint64_t key, uint64_t word, uint32_t position) {
        const auto purpose = static_cast<uint32_t>(Purpose::augment);
        const Block out = philox(key, {static_cast<uint32_t>(word),
                                       static_cast<uint32_t>(word >> 32), purpose, position});
        return out[0] | (static_cast<uint64_t>(out[1]) << 32);
    };
    const uint64_t key = child(child(child(seed, 0, 0), word, 1), 7, 2);
    std::vector<uint32_t> expected;
    for (uint32_t block = 0; block < 5; ++block) {
        const Block out = philox(key, {block, 0, 0, 0});
        expected.insert(expected.end(), out.begin(), out.end());
    }
    CHECK(first_bits(Random(seed, Purpose::augment, {word, 7}), 20) == expected);
}

TEST_CASE("Streams with different keys are different") {
    std::vector<Random> streams;
    for (const uint64_t seed : {0ull, 1ull, 1ull << 32}) {
        for (uint32_t purpose = 1; purpose <= 10; ++purpose) {
            const auto what = static_cast<Purpose>(purpose);
            streams.emplace_back(seed, what);
            for (const uint64_t a : {0ull, 1ull, 1ull << 32}) {
                streams.push_back(Random(seed, what, {a}));
                for (const uint64_t b : {0ull, 1ull, 5ull}) {
                    streams.push_back(Random(seed, what, {a, b}));
                }
            }
        }
    }
    std::set<uint64_t> firsts;
    for (Random& stream : streams) firsts.insert(stream.bits64());
    CHECK(firsts.size() == streams.size());
}

TEST_CASE("A stream does not depend on draws from other streams") {
    const auto alone = first_bits(Random(5, Purpose::shuffle, {3}), 12);
    Random one(5, Purpose::shuffle, {3}), other(5, Purpose::shuffle, {4});
    std::vector<uint32_t> interleaved;
    for (int i = 0; i < 12; ++i) {
        for (int j = 0; j < i; ++j) other.bits();
        interleaved.push_back(one.bits());
    }
    CHECK(interleaved == alone);
}

TEST_CASE("bits64() joins two draws, low half first, and uniform() uses its upper 53 bits") {
    const auto bits = first_bits(Random(9, Purpose::init), 4);
    Random wide(9, Purpose::init);
    const uint64_t first = bits[0] | (static_cast<uint64_t>(bits[1]) << 32);
    CHECK(wide.bits64() == first);
    Random uniform(9, Purpose::init);
    CHECK(uniform.uniform() == std::ldexp(static_cast<double>(first >> 11), -53));
}

TEST_CASE("Uniform and normal numbers have the right moments") {
    Random random(11, Purpose::shapes);
    constexpr int kDraws = 40000;
    double least = 1, most = 0, sum = 0, normal_sum = 0, squares = 0, fourths = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double u = random.uniform(), z = random.normal();
        least = std::min(least, u);
        most = std::max(most, u);
        sum += u;
        normal_sum += z;
        squares += z * z;
        fourths += z * z * z * z;
    }
    CHECK(least >= 0);
    CHECK(least < 0.001);
    CHECK(most < 1);
    CHECK(most > 0.999);
    // Within four standard errors of each moment.
    CHECK(std::abs(sum / kDraws - 0.5) < 4 * std::sqrt(1.0 / 12 / kDraws));
    CHECK(std::abs(normal_sum / kDraws) < 4 / std::sqrt(kDraws));
    CHECK(std::abs(squares / kDraws - 1) < 4 * std::sqrt(2.0 / kDraws));
    CHECK(std::abs(fourths / kDraws - 3) < 4 * std::sqrt(96.0 / kDraws));
}

TEST_CASE("below(n) returns every number equally often") {
    Random random(13, Purpose::partition);
    for (const uint64_t n : {1ull, 2ull, 3ull, 10ull}) {
        CAPTURE(n);
        std::vector<int> met(n);
        const int draws = 3000 * static_cast<int>(n);
        for (int i = 0; i < draws; ++i) ++met.at(random.below(n));
        for (const int count : met) CHECK(std::abs(count - 3000) < 5 * std::sqrt(3000.0));
    }
    // For n = 3/4 2^64, a plain remainder would return the lower third twice as often as the rest.
    constexpr uint64_t kLarge = 3ull << 62;
    int lower = 0;
    for (int i = 0; i < 3000; ++i) lower += random.below(kLarge) < kLarge / 3;
    CHECK(std::abs(lower - 1000) < 5 * std::sqrt(3000.0 * 2 / 9));
}

TEST_CASE("A permutation contains each number once, and every order is equally likely") {
    Random random(17, Purpose::shuffle);
    auto order = permutation(1000, random);
    CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < 1000; ++i) REQUIRE(order[i] == i);
    CHECK(permutation(0, random).empty());
    CHECK(permutation(1, random) == std::vector<int64_t>{0});
    std::map<std::vector<int64_t>, int> met;
    for (int i = 0; i < 6000; ++i) ++met[permutation(3, random)];
    CHECK(met.size() == 6);
    for (const auto& [each, count] : met) CHECK(std::abs(count - 1000) < 150);
}

}  // namespace dbench::base
