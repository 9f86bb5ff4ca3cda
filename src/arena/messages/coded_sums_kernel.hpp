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

    Codec codec;
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
        if (codec == Codec::bfloat16) {
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
        block.for_each(end - begin, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const int64_t at = begin + c;
            const T x = sum.x[at], own = rounded<Form>(x);
            T all = 0;
            for (int64_t k = 0; k < sum.many; ++k) {
                const CodedTerm& row = sum.terms[k];
                const T weight = static_cast<T>(row.weight);
                const T term = weight * (Form::decode(row.words[at]) - own);
                all = k == 0 ? term : all + term;  // The first term is not added to 0, which would
                                                   // turn -0 into 0.
            }
            sum.out[at] = sum.change ? all : x + all;
        });
    }
};

template <class T>
struct CodedShift {
    static constexpr int64_t kWidth = 4096;

    Codec codec;
    bool change;
    const T* x;
    const T* mean;
    T* out;
    int64_t count;

    constexpr int64_t blocks() const { return (count + kWidth - 1) / kWidth; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        if (codec == Codec::bfloat16) {
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
