#include "arena/messages/element_codec.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "catch.hpp"

namespace dbench::arena::tests {
namespace {

constexpr ElementCodec kCodecs[] = {ElementCodec::bfloat16, ElementCodec::float16};

template <class T>
constexpr DType kCodecType = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
T quantized(ElementCodec codec, T x) {
    T y;
    quantize(codec, kCodecType<T>, &x, &y, 1);
    return y;
}

uint16_t word(ElementCodec codec, float x) {
    uint16_t h;
    encode(codec, DType::float32, &x, &h, 1);
    return h;
}

float value(ElementCodec codec, uint16_t h) {
    float x;
    decode(codec, DType::float32, &h, &x, 1);
    return x;
}

/// Value of a word by the formats' definitions: sign, exponent, fraction.
double meaning(ElementCodec codec, uint16_t h) {
    const int bits = codec == ElementCodec::bfloat16 ? 7 : 10,
              bias = codec == ElementCodec::bfloat16 ? 127 : 15;
    const int exponent = (h & 0x7fff) >> bits, fraction = h & ((1 << bits) - 1);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - bits)
                                      : std::ldexp(fraction + (1 << bits), exponent - bias - bits);
    return h & 0x8000 ? -size : size;
}

bool finite(ElementCodec codec, uint16_t h) {
    const int exponents = codec == ElementCodec::bfloat16 ? 0x7f80 : 0x7c00;
    return (h & exponents) != exponents;
}

}  // namespace

TEST_CASE("Every word has the value that its format defines, and encodes to itself") {
    for (const ElementCodec codec : kCodecs) {
        int wrong = 0, changed = 0;
        for (int h = 0; h < 65536; ++h) {
            const auto w = static_cast<uint16_t>(h);
            if (!finite(codec, w)) continue;
            wrong += value(codec, w) != meaning(codec, w);
            changed += word(codec, value(codec, w)) != w;
        }
        CHECK(wrong == 0);
        CHECK(changed == 0);
    }
}

TEST_CASE("Numbers are rounded to the nearest word, ties to even") {
    for (const ElementCodec codec : kCodecs) {
        const int last = codec == ElementCodec::bfloat16 ? 0x7f7f : 0x7bff;
        for (int h = 0; h < last; ++h) {
            const auto low = static_cast<uint16_t>(h), high = static_cast<uint16_t>(h + 1);
            const float a = value(codec, low), b = value(codec, high);
            const auto middle = static_cast<float>((static_cast<double>(a) + b) / 2);
            if (static_cast<double>(middle) != (static_cast<double>(a) + b) / 2) continue;
            REQUIRE(word(codec, middle) == (h % 2 == 0 ? low : high));
            REQUIRE(word(codec, std::nextafter(middle, a)) == low);
            REQUIRE(word(codec, std::nextafter(middle, b)) == high);
            REQUIRE(word(codec, -middle) == (0x8000 | (h % 2 == 0 ? low : high)));
        }
    }
}

TEST_CASE("Too large numbers become infinite, and a NaN remains a NaN") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const ElementCodec codec : kCodecs) {
        CHECK(quantized(codec, infinity) == infinity);
        CHECK(quantized(codec, -infinity) == -infinity);
        for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu}) {
            CHECK(std::isnan(quantized(codec, std::bit_cast<float>(bits))));
        }
    }
    CHECK(quantized(ElementCodec::float16, 65519.0f) == 65504.0f);
    CHECK(quantized(ElementCodec::float16, 65520.0f) == infinity);
    CHECK(quantized(ElementCodec::float16, 1e30f) == infinity);
    CHECK(quantized(ElementCodec::bfloat16, std::numeric_limits<float>::max()) == infinity);
}

TEST_CASE("float64 is rounded through float32") {
    for (const ElementCodec codec : kCodecs) {
        for (const double x : {1.0 / 3, -2.7182818284590452, 1e-6, 12345.678}) {
            CHECK(quantized(codec, x) == quantized(codec, static_cast<float>(x)));
        }
    }
}

TEST_CASE("Encoding and decoding equals quantizing, for any length") {
    for (const ElementCodec codec : kCodecs) {
        for (const int64_t count : {1, 15, 16, 17, 100}) {
            std::vector<float> x(count), y(count), z(count);
            std::vector<uint16_t> words(count);
            for (int64_t c = 0; c < count; ++c) x[c] = std::sin(static_cast<float>(c) * 1.7f);
            encode(codec, DType::float32, x.data(), words.data(), count);
            decode(codec, DType::float32, words.data(), y.data(), count);
            quantize(codec, DType::float32, x.data(), z.data(), count);
            CHECK(y == z);
        }
    }
}

}  // namespace dbench::arena::tests
