// The sign of each element, and the tensor's mean magnitude: Q(v) = ||v||_1 / numel sign(v), with
// sign(0) = +1. A bit an element, and one value.

#include <cmath>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

struct Sign {
    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return (tensor.numel + 7) / 8 + static_cast<int64_t>(sizeof(T));
    }
    template <class T>
    void encode(const Coding& coding, const T* from, char* to) const {
        double sum = 0;
        BitWriter bits(to + sizeof(T));
        for (int64_t c = 0; c < coding.numel(); ++c) {
            sum += std::abs(static_cast<double>(from[c]));
            bits.put(from[c] < 0, 1);
        }
        bits.flush();
        write_at(to, 0, static_cast<T>(sum / static_cast<double>(coding.numel())));
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        const T mean = factor * read_at<T>(message, 0);
        BitReader bits(message + sizeof(T));
        for (int64_t c = 0; c < coding.numel(); ++c) out[c] += bits.get(1) ? -mean : mean;
    }
};

}  // namespace

CodecEntry sign_codec() {
    return {{"sign", "a bit for each element, and each tensor's mean magnitude", {}},
            [](const base::Json&) { return codec_of(Sign()); }};
}

}  // namespace dbench::algorithms
