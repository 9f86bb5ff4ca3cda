// The k elements of each tensor with the largest magnitude, ties to the lower index; the others
// count as 0. k indices of 32 bits, k values: 8 k bytes in float32. A NaN counts as the largest.

#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/sparse.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

template <class T>
T magnitude(T value) {
    return std::isnan(value) ? std::numeric_limits<T>::infinity() : std::abs(value);
}

struct TopK {
    double ratio;

    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return kept(ratio, tensor.numel) * static_cast<int64_t>(4 + sizeof(T));
    }
    template <class T>
    void encode(const Coding& coding, const T* from, char* to) const {
        const int64_t numel = coding.numel(), k = kept(ratio, numel);
        std::vector<T> sizes(static_cast<size_t>(numel));
        std::transform(from, from + numel, sizes.begin(), magnitude<T>);
        std::nth_element(sizes.begin(), sizes.begin() + (k - 1), sizes.end(), std::greater<T>());
        const T least = sizes[static_cast<size_t>(k - 1)];
        int64_t ties = k - std::count_if(sizes.begin(), sizes.begin() + k,
                                         [&](T size) { return size > least; });
        int64_t sent = 0;
        for (int64_t c = 0; c < numel; ++c) {
            const T size = magnitude(from[c]);
            if (size < least || (size == least && ties-- <= 0)) continue;
            write_at(to, sent, static_cast<uint32_t>(c));
            write_at(to + 4 * k, sent++, from[c]);
        }
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        const int64_t k = kept(ratio, coding.numel());
        for (int64_t c = 0; c < k; ++c) {
            out[read_at<uint32_t>(message, c)] += factor * read_at<T>(message + 4 * k, c);
        }
    }
};

}  // namespace

CodecEntry top_k_codec() {
    return {
        {"top_k", "the largest elements of each tensor, and where they are", {ratio_parameter()}},
        [](const base::Json& spec) { return codec_of(TopK{spec.at("ratio")}); }};
}

}  // namespace dbench::algorithms
