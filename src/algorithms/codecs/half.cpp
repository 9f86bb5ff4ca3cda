// 16 bits an element: bfloat16, or IEEE float16; rounded to the nearest, or to one of the two
// neighbours by chance, so that the mean over many messages is v.

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/wire.hpp"
#include "arena/codec.hpp"

namespace dbench::algorithms {
namespace {

struct Half {
    arena::Codec form;
    bool stochastic;

    template <class T>
    static constexpr arena::DType type() {
        return sizeof(T) == 4 ? arena::DType::float32 : arena::DType::float64;
    }
    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return tensor.numel * 2;
    }
    template <class T>
    void encode(Coding coding, const T* from, char* to) const {
        std::vector<uint16_t> words(static_cast<size_t>(coding.numel()));
        arena::encode(form, type<T>(), from, words.data(), coding.numel());
        if (stochastic) {
            for (int64_t c = 0; c < coding.numel(); ++c) {
                words[c] = by_chance(words[c], static_cast<double>(from[c]), coding.random);
            }
        }
        std::memcpy(to, words.data(), words.size() * 2);
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        std::vector<uint16_t> words(static_cast<size_t>(coding.numel()));
        std::memcpy(words.data(), message, words.size() * 2);
        std::vector<T> values(words.size());
        arena::decode(form, type<T>(), words.data(), values.data(), coding.numel());
        for (int64_t c = 0; c < coding.numel(); ++c) out[c] += factor * values[c];
    }

private:
    double value(uint16_t word) const {
        double out;
        arena::decode(form, arena::DType::float64, &word, &out, 1);
        return out;
    }
    /// The nearest word, or the one on the other side of x.
    uint16_t by_chance(uint16_t nearest, double x, base::Random& random) const {
        const double u = random.uniform(), q = value(nearest);
        if (q == x || !std::isfinite(x) || !std::isfinite(q)) return nearest;
        uint16_t other;
        if (std::abs(q) > std::abs(x)) {
            other = static_cast<uint16_t>(nearest - 1);
        } else {
            other = static_cast<uint16_t>(nearest + 1);
            if (q == 0) other = static_cast<uint16_t>(x < 0 ? 0x8001 : 0x0001);
        }
        const double step = value(other) - q;
        return std::isfinite(step) && u < (x - q) / step ? other : nearest;
    }
};

std::vector<base::Parameter> keys() {
    return {
        base::Parameter::flag("stochastic", "false", "rounds up or down by chance, without bias")};
}

}  // namespace

CodecEntry bfloat16_codec() {
    return {{"bfloat16", "16 bits: the range of float32, 8 bits of precision", keys()},
            [](const base::Json& spec) {
                return codec_of(Half{arena::Codec::bfloat16, spec.at("stochastic")});
            }};
}

CodecEntry float16_codec() {
    return {{"float16", "16 bits: up to 65504, 11 bits of precision", keys()},
            [](const base::Json& spec) {
                return codec_of(Half{arena::Codec::float16, spec.at("stochastic")});
            }};
}

}  // namespace dbench::algorithms
