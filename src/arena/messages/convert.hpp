#pragma once
// 16-bit forms of elements (codec.hpp of this room): a block for so many elements.

#include "arena/grid/block.hpp"
#include "arena/messages/half_forms.hpp"

namespace dbench::arena {

/// Words of elements.
struct Encode {
    template <class Form, class T>
    static DBENCH_INLINE uint16_t of(T x) {
        return Form::encode(static_cast<float>(x));
    }
};
/// Elements of words.
struct Decode {
    template <class Form>
    static DBENCH_INLINE float of(uint16_t h) {
        return Form::decode(h);
    }
};
struct Quantize {
    template <class Form, class T>
    static DBENCH_INLINE float of(T x) {
        return Form::decode(Encode::of<Form>(x));
    }
};

template <class Element, class From, class To>
struct Convert {
    static constexpr int64_t kWidth = 4096;

    Codec codec;
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
        if (codec == Codec::bfloat16) {
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                out[c] = Element::template of<Bfloat16>(x[c]);
            });
        } else {
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                out[c] = Element::template of<Float16>(x[c]);
            });
        }
    }
};

}  // namespace dbench::arena
