#include "arena/coded_sums.hpp"

#include "arena/half_forms.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

constexpr int64_t kStrip = 64;  // columns whose sums stay in registers while rows pass by

/// Sums of at most kStrip columns; `count` is a constant wherever the compiler is to unroll.
template <class Form, class T>
DBENCH_INLINE void strip(const T* x, const CodedTerm* terms, int64_t many, bool change,
                         int64_t begin, int64_t count, T* out) {
    T own[kStrip], sum[kStrip];
    DBENCH_INDEPENDENT
    for (int64_t j = 0; j < count; ++j) {
        own[j] = Form::decode(Form::encode(static_cast<float>(x[begin + j])));
        sum[j] = 0;
    }
    for (int64_t k = 0; k < many; ++k) {
        const uint16_t* const row = terms[k].words + begin;
        const T weight = static_cast<T>(terms[k].weight);
        if (k == 0) {  // not added to 0, which would turn -0 into 0
            for (int64_t j = 0; j < count; ++j) sum[j] = weight * (Form::decode(row[j]) - own[j]);
        } else {
            for (int64_t j = 0; j < count; ++j) sum[j] += weight * (Form::decode(row[j]) - own[j]);
        }
    }
    DBENCH_INDEPENDENT
    for (int64_t j = 0; j < count; ++j) out[begin + j] = change ? sum[j] : x[begin + j] + sum[j];
}

template <class T>
DBENCH_INLINE void mean_body(Codec codec, const T* x, const CodedTerm* terms, int64_t many,
                             bool change, T* out, int64_t count) {
    with_form(codec, [&]<class Form>() DBENCH_INLINE_LAMBDA {
        int64_t c = 0;
        for (; c + kStrip <= count; c += kStrip) {
            strip<Form>(x, terms, many, change, c, kStrip, out);
        }
        if (c < count) strip<Form>(x, terms, many, change, c, count - c, out);
    });
}

DBENCH_CLONES void mean(Codec codec, const float* x, const CodedTerm* terms, int64_t many,
                        bool change, float* out, int64_t count) {
    mean_body(codec, x, terms, many, change, out, count);
}
DBENCH_CLONES void mean(Codec codec, const double* x, const CodedTerm* terms, int64_t many,
                        bool change, double* out, int64_t count) {
    mean_body(codec, x, terms, many, change, out, count);
}

template <class T>
DBENCH_INLINE void shift_body(Codec codec, const T* x, const T* mean, bool change, T* out,
                              int64_t count) {
    with_form(codec, [&]<class Form>() DBENCH_INLINE_LAMBDA {
        DBENCH_INDEPENDENT
        for (int64_t c = 0; c < count; ++c) {
            const T own = Form::decode(Form::encode(static_cast<float>(x[c])));
            out[c] = change ? mean[c] - own : x[c] + (mean[c] - own);
        }
    });
}

DBENCH_CLONES void shift(Codec codec, const float* x, const float* mean, bool change, float* out,
                         int64_t count) {
    shift_body(codec, x, mean, change, out, count);
}
DBENCH_CLONES void shift(Codec codec, const double* x, const double* mean, bool change, double* out,
                         int64_t count) {
    shift_body(codec, x, mean, change, out, count);
}

}  // namespace

void coded_mean(Codec codec, DType type, const void* x, std::span<const CodedTerm> terms,
                bool change, void* out, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_passes(type, {0, count}, 1, 1, Kernel::mixing);
    count_bytes(static_cast<int64_t>(terms.size()) * count * size_of(codec, type), 0,
                Kernel::mixing);
    with_type(type, [&]<class T>() {
        mean(codec, static_cast<const T*>(x), terms.data(), static_cast<int64_t>(terms.size()),
             change, static_cast<T*>(out), count);
    });
}

void coded_shift(Codec codec, DType type, const void* x, const void* mean, bool change, void* out,
                 int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_passes(type, {0, count}, 2, 1, Kernel::mixing);
    with_type(type, [&]<class T>() {
        shift(codec, static_cast<const T*>(x), static_cast<const T*>(mean), change,
              static_cast<T*>(out), count);
    });
}

}  // namespace dbench::arena
