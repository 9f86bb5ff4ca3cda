#pragma once
// The kernel bodies of sums over a replica's row and encoded rows (coded_sums.hpp): a block for
// every kWidth elements.

#include "arena/grid/block.hpp"
#include "arena/messages/coded_sums.hpp"
#include "arena/messages/half_forms.hpp"

namespace dbench::arena {

/// Returns Q(x), the value of an element that other ranks see.
template <class Form, class T>
DBENCH_INLINE T rounded(T x) {
    return Form::decode(Form::encode(static_cast<float>(x)));
}

// The host does not use these call operators: its loops in coded_sums.cpp process many columns of a
// row before the next row.

template <class T>
struct CodedMean {
    static constexpr int64_t kWidth = 4096;
    static constexpr int kSome = 8;  // Elements per thread.

    ElementCodec codec;
    bool change;
    const T* x;
    const CodedTerm* terms;
    int64_t many;  // Number of terms.
    T* out;
    int64_t count;

    constexpr int64_t blocks() const { return (count + kWidth - 1) / kWidth; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        if (codec == ElementCodec::bfloat16) {
            add<Bfloat16>(block, index * kWidth);
        } else {
            add<Float16>(block, index * kWidth);
        }
    }

private:
    template <class Form, class Block>
    DBENCH_INLINE void add(Block& block, int64_t begin) const {
        const CodedMean sum = *this;
        const int64_t end = std::min(begin + kWidth, count);
        block.template for_some<kSome>(end - begin, [=](int64_t c, int here) DBENCH_INLINE_LAMBDA {
            const int64_t at = begin + c;
            T x[kSome], own[kSome], all[kSome] = {};
            load_some(sum.x + at, here, x);
            DBENCH_UNROLL
            for (int j = 0; j < kSome; ++j) own[j] = rounded<Form>(x[j]);
            for (int64_t k = 0; k < sum.many; ++k) {
                const CodedTerm& row = sum.terms[k];
                const T weight = static_cast<T>(row.weight);
                uint16_t words[kSome];
                load_some(row.words + at, here, words);
                DBENCH_UNROLL
                for (int j = 0; j < kSome; ++j) {
                    const T term = weight * (Form::decode(words[j]) - own[j]);
                    all[j] = k == 0 ? term : all[j] + term;  // The first term is not added to 0,
                                                             // which would turn -0 into 0.
                }
            }
            if (!sum.change) {
                DBENCH_UNROLL
                for (int j = 0; j < kSome; ++j) all[j] = x[j] + all[j];
            }
            store_some(all, here, sum.out + at);
        });
    }
};

template <class T>
struct CodedShift {
    static constexpr int64_t kWidth = 4096;

    ElementCodec codec;
    bool change;
    const T* x;
    const T* mean;
    T* out;
    int64_t count;

    constexpr int64_t blocks() const { return (count + kWidth - 1) / kWidth; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        if (codec == ElementCodec::bfloat16) {
            add<Bfloat16>(block, index * kWidth);
        } else {
            add<Float16>(block, index * kWidth);
        }
    }

private:
    template <class Form, class Block>
    DBENCH_INLINE void add(Block& block, int64_t begin) const {
        const int64_t end = std::min(begin + kWidth, count), here = end - begin;
        const T* const from = x + begin;
        const T* const to_mean = mean + begin;
        T* const to = out + begin;
        with_flag(change, [&](auto alone) DBENCH_INLINE_LAMBDA {
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                const T shift = to_mean[c] - rounded<Form>(from[c]);
                to[c] = alone ? shift : from[c] + shift;
            });
        });
    }
};

}  // namespace dbench::arena
