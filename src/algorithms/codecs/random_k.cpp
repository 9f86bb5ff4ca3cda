// k elements of each tensor, drawn by a key that the receiver knows: only values are sent, 4 k
// bytes in float32. Where unbiased, they count numel / k times.

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/sparse.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

/// k different indices below numel: the first k of a Fisher-Yates shuffle, of which only what has
/// moved is kept.
std::vector<int64_t> drawn(int64_t k, int64_t numel, base::Random& random) {
    std::unordered_map<int64_t, int64_t> moved;
    const auto at = [&](int64_t index) {
        const auto it = moved.find(index);
        return it == moved.end() ? index : it->second;
    };
    std::vector<int64_t> indices(static_cast<size_t>(k));
    for (int64_t c = 0; c < k; ++c) {
        const auto other = c + static_cast<int64_t>(random.below(static_cast<uint64_t>(numel - c)));
        indices[c] = at(other);
        moved[other] = at(c);
    }
    std::sort(indices.begin(), indices.end());  // read and written in order
    return indices;
}

struct RandomK {
    double ratio;
    bool unbiased;

    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return kept(ratio, tensor.numel) * static_cast<int64_t>(sizeof(T));
    }
    template <class T>
    void encode(Coding coding, const T* from, char* to) const {
        int64_t sent = 0;
        for (const int64_t c : drawn(kept(ratio, coding.numel()), coding.numel(), coding.random)) {
            write_at(to, sent++, from[c]);
        }
    }
    template <class T>
    void add(Coding coding, const char* message, T factor, T* out) const {
        const int64_t numel = coding.numel(), k = kept(ratio, numel);
        if (unbiased) factor *= static_cast<T>(numel) / static_cast<T>(k);
        int64_t read = 0;
        for (const int64_t c : drawn(k, numel, coding.random)) {
            out[c] += factor * read_at<T>(message, read++);
        }
    }
};

}  // namespace

CodecEntry random_k_codec() {
    return {{"random_k",
             "random elements of each tensor; both sides know which, no indices are sent",
             {ratio_parameter(),
              base::Parameter::flag("unbiased", "false",
                                    "scaled by numel / k: the mean over draws is v")}},
            [](const base::Json& spec) {
                return codec_of(RandomK{spec.at("ratio"), spec.at("unbiased")});
            },
            true};
}

}  // namespace dbench::algorithms
