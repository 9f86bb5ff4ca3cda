#include "arena/messages/coded_sums.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "catch.hpp"

namespace dbench::arena::tests {
namespace {

constexpr int64_t kCounts[] = {1, 63, 64, 65, 200};

/// Elements of different magnitudes, including -0.
template <class T>
std::vector<T> elements(int row, int64_t count) {
    base::Random random(7, base::Purpose::init, {static_cast<uint64_t>(row)});
    std::vector<T> x(static_cast<size_t>(count));
    for (T& element : x) element = static_cast<T>(std::ldexp(random.uniform() - 0.5, row - 4));
    x[0] = -T{0};
    return x;
}

template <class T>
constexpr DType kCodedSumsType = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
std::vector<T> rounded(ElementCodec codec, const std::vector<T>& x) {
    std::vector<T> q(x.size());
    quantize(codec, kCodedSumsType<T>, x.data(), q.data(), static_cast<int64_t>(x.size()));
    return q;
}

template <class T>
bool coded_sums_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void check(ElementCodec codec, int64_t count, int terms, bool change) {
    const std::vector<T> x = elements<T>(0, count), own = rounded(codec, x);
    std::vector<T> expected(x.size());
    std::vector<std::vector<uint16_t>> words;
    std::vector<CodedTerm> sum;
    for (int k = 0; k < terms; ++k) {
        const std::vector<T> row = elements<T>(k + 1, count), q = rounded(codec, row);
        words.emplace_back(static_cast<size_t>(count));
        encode(codec, kCodedSumsType<T>, row.data(), words.back().data(), count);
        const T weight = static_cast<T>(1.0 / (k + 2));
        for (size_t c = 0; c < x.size(); ++c) {
            const T term = weight * (q[c] - own[c]);
            expected[c] = k == 0 ? term : expected[c] + term;
        }
    }
    for (int k = 0; k < terms; ++k) sum.push_back({words[k].data(), 1.0 / (k + 2)});
    for (size_t c = 0; c < x.size() && !change; ++c) expected[c] = x[c] + expected[c];
    std::vector<T> out(x.size()), in_place = x;
    coded_mean(codec, kCodedSumsType<T>, x.data(), sum, change, out.data(), count);
    CHECK(coded_sums_same_bits(out, expected));
    coded_mean(codec, kCodedSumsType<T>, in_place.data(), sum, change, in_place.data(), count);
    CHECK(coded_sums_same_bits(in_place, expected));

    const std::vector<T> mean = elements<T>(3, count);
    for (size_t c = 0; c < x.size(); ++c) {
        expected[c] = change ? mean[c] - own[c] : x[c] + (mean[c] - own[c]);
    }
    coded_shift(codec, kCodedSumsType<T>, x.data(), mean.data(), change, out.data(), count);
    CHECK(coded_sums_same_bits(out, expected));
}

}  // namespace

TEST_CASE("Sums over words have the bits of sums over the decoded words") {
    for (const ElementCodec codec : {ElementCodec::bfloat16, ElementCodec::float16}) {
        for (const int64_t count : kCounts) {
            for (const int terms : {0, 1, 2, 5, 17}) {
                for (const bool change : {false, true}) {
                    check<float>(codec, count, terms, change);
                    check<double>(codec, count, terms, change);
                }
            }
        }
    }
}

}  // namespace dbench::arena::tests
