// k elements of each tensor, drawn by a key that the receiver knows: only values are sent, 4 k
// bytes in float32. Where unbiased, they count numel / k times.

#include <bit>
#include <nlohmann/json.hpp>

#include "algorithms/codecs/on_host.hpp"
#include "algorithms/codecs/sparse.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

/// What has moved in a list that begins as 0, 1, 2, ...: a table with open addresses.
class Moved {
public:
    /// Of at most `count` elements.
    explicit Moved(int64_t count)
        : shift_(64 - std::bit_width(static_cast<uint64_t>(2 * count))),
          entries_(size_t{1} << (64 - shift_)) {}

    int64_t at(int64_t index) const {
        const Entry& entry = entries_[slot(index)];
        return entry.index == index ? entry.value : index;
    }
    void move(int64_t index, int64_t value) { entries_[slot(index)] = {index, value}; }

private:
    struct Entry {
        int64_t index = -1, value = 0;
    };
    /// Where `index` is, or would come.
    size_t slot(int64_t index) const {
        size_t at = (static_cast<uint64_t>(index) * 0x9E3779B97F4A7C15u) >> shift_;  // 2^64 / phi
        while (entries_[at].index >= 0 && entries_[at].index != index) {
            at = (at + 1) & (entries_.size() - 1);
        }
        return at;
    }

    int shift_;
    std::vector<Entry> entries_;
};

/// k different indices below numel, in order: the first k of a Fisher-Yates shuffle.
std::vector<int64_t> drawn(int64_t k, int64_t numel, base::Random& random) {
    Moved moved(k);
    std::vector<uint64_t> chosen(static_cast<size_t>((numel + 63) / 64));  // a bit each
    for (int64_t c = 0; c < k; ++c) {
        const auto other = c + static_cast<int64_t>(random.below(static_cast<uint64_t>(numel - c)));
        const int64_t index = moved.at(other);
        chosen[static_cast<size_t>(index / 64)] |= uint64_t{1} << index % 64;
        moved.move(other, moved.at(c));
    }
    std::vector<int64_t> indices;
    indices.reserve(static_cast<size_t>(k));
    for (size_t word = 0; word < chosen.size(); ++word) {
        for (uint64_t left = chosen[word]; left != 0; left &= left - 1) {
            indices.push_back(static_cast<int64_t>(64 * word) + std::countr_zero(left));
        }
    }
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
                return codec_on_host(RandomK{spec.at("ratio"), spec.at("unbiased")});
            },
            true};
}

}  // namespace dbench::algorithms
