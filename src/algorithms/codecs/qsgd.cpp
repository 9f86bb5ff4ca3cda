// QSGD (Alistarh et al. 2017, arXiv 1610.02132): each element as a whole number xi of s = 2^bits -
// 1 levels of the tensor's norm, rounded up or down by chance,
//
//     Q(v) = ||v|| sign(v) xi / s,   xi in 0 .. s,   E Q(v) = v;
//
// where biased, times 1 / (1 + min(numel / s^2, sqrt(numel) / s)), which makes it a contraction
// (Koloskova et al. 2019, arXiv 1902.00340). bits + 1 bits an element, and one value.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

struct Qsgd {
    int bits;
    bool unbiased;

    double levels() const { return static_cast<double>((int64_t{1} << bits) - 1); }

    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return (tensor.numel * (bits + 1) + 7) / 8 + static_cast<int64_t>(sizeof(T));
    }
    template <class T>
    void encode(Coding coding, const T* from, char* to) const {
        double squares = 0;
        for (int64_t c = 0; c < coding.numel(); ++c) {
            squares += static_cast<double>(from[c]) * static_cast<double>(from[c]);
        }
        const double norm = std::sqrt(squares), s = levels();
        write_at(to, 0, static_cast<T>(norm));
        BitWriter out(to + sizeof(T));
        const double scale = norm > 0 ? s / norm : 0;
        for (int64_t c = 0; c < coding.numel(); ++c) {
            const double level = std::abs(static_cast<double>(from[c])) * scale;
            const double xi = std::min(std::floor(level + coding.random.uniform()), s);
            out.put(xi > 0 ? static_cast<uint32_t>(xi) : 0, bits);  // 0 for a NaN, too
            out.put(from[c] < 0, 1);
        }
        out.flush();
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        const double s = levels(), numel = static_cast<double>(coding.numel());
        const double shrink =
            unbiased ? 1 : 1 / (1 + std::min(numel / (s * s), std::sqrt(numel) / s));
        const T step = factor * static_cast<T>(read_at<T>(message, 0) * shrink / s);
        BitReader in(message + sizeof(T));
        for (int64_t c = 0; c < coding.numel(); ++c) {
            const T size = step * static_cast<T>(in.get(bits));
            out[c] += in.get(1) ? -size : size;
        }
    }
};

}  // namespace

CodecEntry qsgd_codec() {
    return {
        {"qsgd",
         "levels of each tensor's norm, rounded by chance",
         {base::Parameter::integer("bits", "4", "of an element beside its sign: 2^bits - 1 levels")
              .at_least(1)
              .at_most(16),
          base::Parameter::flag("unbiased", "false",
                                "not scaled down to a contraction: the mean over draws is v")}},
        [](const base::Json& spec) {
            return codec_of(Qsgd{spec.at("bits"), spec.at("unbiased")});
        },
        true};
}

}  // namespace dbench::algorithms
