// The k elements of each tensor with the largest magnitude, ties to the lower index; the others
// count as 0. k indices of 32 bits, k values: 8 k bytes in float32. A NaN counts as the largest.

#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/codecs/on_host.hpp"
#include "algorithms/codecs/sparse.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

/// A magnitude as a whole number of the same order, below 2^(bits - 1); a NaN as infinity.
template <class T>
auto magnitude(T value) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const T size = std::isnan(value) ? std::numeric_limits<T>::infinity() : std::abs(value);
    return std::bit_cast<Bits>(size);
}

/// The k largest of v [numel], in order: a histogram of leading bits says which can be among them,
/// and of those few the least that belongs to them is found.
template <class T>
std::vector<uint32_t> largest(const T* v, int64_t numel, int64_t k) {
    using Bits = decltype(magnitude(T{}));
    constexpr int kBits = 12, kShift = 8 * sizeof(T) - 1 - kBits, kWays = 4;
    std::vector<std::array<uint32_t, kWays>> found(size_t{1} << kBits);
    for (int64_t c = 0; c < numel; ++c) ++found[magnitude(v[c]) >> kShift][c % kWays];
    Bits bin = 0;
    int64_t above = 0, here = 0;  // in the bins above it, and in it
    for (bin = (Bits{1} << kBits) - 1;; --bin) {
        here = std::accumulate(found[bin].begin(), found[bin].end(), int64_t{0});
        if (above + here >= k) break;
        above += here;
    }
    std::vector<uint32_t> chosen(static_cast<size_t>(above + here + 1));
    int64_t count = 0;
    for (int64_t c = 0; c < numel; ++c) {  // without a branch
        chosen[static_cast<size_t>(count)] = static_cast<uint32_t>(c);
        count += magnitude(v[c]) >> kShift >= bin;
    }
    chosen.pop_back();
    std::vector<Bits> sizes;
    for (const uint32_t c : chosen) {
        if (magnitude(v[c]) >> kShift == bin) sizes.push_back(magnitude(v[c]));
    }
    const auto nth = sizes.begin() + (k - above - 1);
    std::nth_element(sizes.begin(), nth, sizes.end(), std::greater<>());
    const Bits least = *nth;
    int64_t ties =
        k - above - std::count_if(sizes.begin(), nth, [&](Bits size) { return size > least; });
    std::erase_if(chosen, [&](uint32_t c) {
        const Bits size = magnitude(v[c]);
        return size < least || (size == least && ties-- <= 0);
    });
    return chosen;
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
        int64_t sent = 0;
        for (const uint32_t c : largest(from, numel, k)) {
            write_at(to, sent, c);
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
        [](const base::Json& spec) { return codec_on_host(TopK{spec.at("ratio")}); }};
}

}  // namespace dbench::algorithms
