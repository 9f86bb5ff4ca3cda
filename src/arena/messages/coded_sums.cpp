#include "arena/messages/coded_sums.hpp"

#include <optional>
#include <vector>

#include "arena/device/read_only_array.hpp"
#include "arena/grid/launch.hpp"
#include "arena/messages/coded_sums_kernel.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

constexpr int64_t kStrip = 64;  // Columns whose sums stay in registers in the loop over the rows.

/// Computes sums of at most kStrip columns. `count` is a compile-time constant if the loops should
/// be unrolled.
template <class Form, class T>
DBENCH_INLINE void strip(const CodedMean<T>& mean, int64_t begin, int64_t count) {
    const T* const x = mean.x;
    T* const out = mean.out;
    const bool change = mean.change;
    T own[kStrip], sum[kStrip];
    DBENCH_INDEPENDENT
    for (int64_t j = 0; j < count; ++j) {
        own[j] = rounded<Form>(x[begin + j]);
        sum[j] = 0;
    }
    for (int64_t k = 0; k < mean.many; ++k) {
        const uint16_t* const row = mean.terms[k].words + begin;
        const T weight = static_cast<T>(mean.terms[k].weight);
        if (k == 0) {  // The first term is not added to 0, which would turn -0 into 0.
            for (int64_t j = 0; j < count; ++j) sum[j] = weight * (Form::decode(row[j]) - own[j]);
        } else {
            for (int64_t j = 0; j < count; ++j) sum[j] += weight * (Form::decode(row[j]) - own[j]);
        }
    }
    DBENCH_INDEPENDENT
    for (int64_t j = 0; j < count; ++j) out[begin + j] = change ? sum[j] : x[begin + j] + sum[j];
}

template <class T>
DBENCH_INLINE void mean_body(const CodedMean<T>& sum) {
    with_form(sum.codec, [&]<class Form>() DBENCH_INLINE_LAMBDA {
        int64_t c = 0;
        for (; c + kStrip <= sum.count; c += kStrip) strip<Form>(sum, c, kStrip);
        if (c < sum.count) strip<Form>(sum, c, sum.count - c);
    });
}

template <class T>
DBENCH_INLINE void shift_body(const CodedShift<T>& shift) {
    const T* const x = shift.x;
    const T* const mean = shift.mean;
    T* const out = shift.out;
    const bool change = shift.change;
    with_form(shift.codec, [&]<class Form>() DBENCH_INLINE_LAMBDA {
        DBENCH_INDEPENDENT
        for (int64_t c = 0; c < shift.count; ++c) {
            const T own = rounded<Form>(x[c]);
            out[c] = change ? mean[c] - own : x[c] + (mean[c] - own);
        }
    });
}

}  // namespace

DBENCH_CLONES void on_host(const CodedMean<float>& body) { mean_body(body); }
DBENCH_CLONES void on_host(const CodedMean<double>& body) { mean_body(body); }
DBENCH_CLONES void on_host(const CodedShift<float>& body) { shift_body(body); }
DBENCH_CLONES void on_host(const CodedShift<double>& body) { shift_body(body); }

void coded_mean(ElementCodec codec, DType type, const void* x, std::span<const CodedTerm> terms,
                bool change, void* out, int64_t count, Queue& queue) {
    DBENCH_EXPECT(codec != ElementCodec::identity);
    const auto many = static_cast<int64_t>(terms.size());
    const int64_t bytes = count * size_of(type), words = count * size_of(codec, type);
    count_passes(type, {0, count}, 1, 1, Kernel::mixing);
    count_bytes(many * words, 0, Kernel::mixing);
    const auto accesses = [&] {
        std::vector<Access> all = {reads(x, bytes), writes(out, bytes)};
        for (const CodedTerm& term : terms) all.push_back(reads(term.words, words));
        return all;
    };
    std::optional<ReadOnlyArray<CodedTerm>> kept;  // Must live until the kernel that reads them has
                                                   // been launched.
    if (!queue.immediate()) kept.emplace(std::vector(terms.begin(), terms.end()));
    const CodedTerm* const at = kept ? kept->on(queue) : terms.data();
    with_type(type, [&]<class T>() {
        const CodedMean<T> body{.codec = codec,
                                .change = change,
                                .x = static_cast<const T*>(x),
                                .terms = at,
                                .many = many,
                                .out = static_cast<T*>(out),
                                .count = count};
        launch(queue, "coded_mean", body, accesses);
    });
}

void coded_shift(ElementCodec codec, DType type, const void* x, const void* mean, bool change,
                 void* out, int64_t count, Queue& queue) {
    DBENCH_EXPECT(codec != ElementCodec::identity);
    const int64_t bytes = count * size_of(type);
    count_passes(type, {0, count}, 2, 1, Kernel::mixing);
    const auto accesses = [&] {
        return std::vector<Access>{reads(x, bytes), reads(mean, bytes), writes(out, bytes)};
    };
    with_type(type, [&]<class T>() {
        const CodedShift<T> body{codec,
                                 change,
                                 static_cast<const T*>(x),
                                 static_cast<const T*>(mean),
                                 static_cast<T*>(out),
                                 count};
        launch(queue, "coded_shift", body, accesses);
    });
}

}  // namespace dbench::arena
