#pragma once
// The kernel body of conversions to and from 16 bits (codec.hpp): a block for every kWidth
// elements.

#include "arena/grid/block.hpp"
#include "arena/messages/half_forms.hpp"

namespace dbench::arena {

/// Converts an element to a word.
struct Encode {
    template <class Form, class T>
    static DBENCH_INLINE uint16_t of(T x) {
        return Form::encode(static_cast<float>(x));
    }
};
/// Converts a word to an element.
struct Decode {
    template <class Form>
    static DBENCH_INLINE float of(uint16_t h) {
        return Form::decode(h);
    }
};
/// Rounds an element to the nearest one that a word can represent.
struct Quantize {
    template <class Form, class T>
    static DBENCH_INLINE float of(T x) {
        return Form::decode(Encode::of<Form>(x));
    }
};

template <class Element, class From, class To>
struct Convert {
    static constexpr int64_t kWidth = 4096;

    ElementCodec codec;
    const From* from;
    To* to;
    int64_t count;

    constexpr int64_t blocks() const { return (count + kWidth - 1) / kWidth; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t begin = index * kWidth, end = std::min(begin + kWidth, count);
        const int64_t here = end - begin;
        const From* const x = from + begin;
        To* const out = to + begin;
        if (codec == ElementCodec::bfloat16) {
            convert<Bfloat16>(block, here, x, out);
        } else {
            convert<Float16>(block, here, x, out);
        }
    }

private:
    template <class Form, class Block>
    static DBENCH_INLINE void convert(Block& block, int64_t count, const From* x, To* out) {
        if constexpr (Block::kManyThreads) {
            block.template for_some<kSome>(count, [=](int64_t c, int here) DBENCH_INLINE_LAMBDA {
                From values[kSome];
                To results[kSome];
                load_some(x + c, here, values);
                DBENCH_UNROLL
                for (int j = 0; j < kSome; ++j) {
                    results[j] = Element::template of<Form>(values[j]);
                }
                store_some(results, here, out + c);
            });
        } else {
            block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                out[c] = Element::template of<Form>(x[c]);
            });
        }
    }
    static constexpr int kSome = 8;  // Elements per thread of a device.
};

}  // namespace dbench::arena
