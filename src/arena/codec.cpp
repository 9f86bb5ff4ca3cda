#include "arena/codec.hpp"

#include "arena/half_forms.hpp"
#include "arena/loops.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

template <class Form>
struct Encode {
    template <class T>
    static DBENCH_INLINE uint16_t of(T x) {
        return Form::encode(static_cast<float>(x));
    }
};
template <class Form>
struct Decode {
    static DBENCH_INLINE float of(uint16_t h) { return Form::decode(h); }
};
template <class Form>
struct Quantize {
    template <class T>
    static DBENCH_INLINE float of(T x) {
        return Form::decode(Encode<Form>::of(x));
    }
};

template <class Element, class From, class To>
DBENCH_INLINE void convert_body(const From* from, To* to, int64_t count) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) to[c] = Element::of(from[c]);
}

template <template <class> class Element, class From, class To>
DBENCH_INLINE void convert(Codec codec, const From* from, To* to, int64_t count) {
    if (codec == Codec::bfloat16) return convert_body<Element<Bfloat16>>(from, to, count);
    convert_body<Element<Float16>>(from, to, count);
}

DBENCH_CLONES void encode(Codec codec, const float* from, uint16_t* to, int64_t count) {
    convert<Encode>(codec, from, to, count);
}
DBENCH_CLONES void encode(Codec codec, const double* from, uint16_t* to, int64_t count) {
    convert<Encode>(codec, from, to, count);
}
DBENCH_CLONES void decode(Codec codec, const uint16_t* from, float* to, int64_t count) {
    convert<Decode>(codec, from, to, count);
}
DBENCH_CLONES void decode(Codec codec, const uint16_t* from, double* to, int64_t count) {
    convert<Decode>(codec, from, to, count);
}
DBENCH_CLONES void quantize(Codec codec, const float* from, float* to, int64_t count) {
    convert<Quantize>(codec, from, to, count);
}
DBENCH_CLONES void quantize(Codec codec, const double* from, double* to, int64_t count) {
    convert<Quantize>(codec, from, to, count);
}

}  // namespace

void encode(Codec codec, DType type, const void* from, uint16_t* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_bytes(count * size_of(type), count * size_of(codec, type), Kernel::codec);
    with_type(type, [&]<class T>() { encode(codec, static_cast<const T*>(from), to, count); });
}

void decode(Codec codec, DType type, const uint16_t* from, void* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_bytes(count * size_of(codec, type), count * size_of(type), Kernel::codec);
    with_type(type, [&]<class T>() { decode(codec, from, static_cast<T*>(to), count); });
}

void quantize(Codec codec, DType type, const void* from, void* to, int64_t count) {
    DBENCH_EXPECT(codec != Codec::identity);
    count_passes(type, {0, count}, 1, 1, Kernel::codec);
    with_type(type, [&]<class T>() {
        quantize(codec, static_cast<const T*>(from), static_cast<T*>(to), count);
    });
}

}  // namespace dbench::arena
