#include "arena/messages/element_codec.hpp"

#include "arena/grid/launch.hpp"
#include "arena/messages/convert.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Convert<Encode, float, uint16_t>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Convert<Encode, double, uint16_t>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Convert<Decode, uint16_t, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Convert<Decode, uint16_t, double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Convert<Quantize, float, float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Convert<Quantize, double, double>& body) { run_blocks(body); }

namespace {

template <class Element, class From, class To>
void convert(const char* name, ElementCodec codec, const void* from, void* to, int64_t count,
             Queue& queue) {
    DBENCH_EXPECT(codec != ElementCodec::identity);
    const int64_t read = count * static_cast<int64_t>(sizeof(From));
    const int64_t written = count * static_cast<int64_t>(sizeof(To));
    count_bytes(read, written, Kernel::codec);
    const Convert<Element, From, To> body{codec, static_cast<const From*>(from),
                                          static_cast<To*>(to), count};
    const auto accesses = [&] {
        return std::vector<Access>{reads(from, read), writes(to, written)};
    };
    launch(queue, name, body, accesses);
}

}  // namespace

void encode(ElementCodec codec, DType type, const void* from, uint16_t* to, int64_t count,
            Queue& queue) {
    with_type(type, [&]<class T>() {
        convert<Encode, T, uint16_t>("encode", codec, from, to, count, queue);
    });
}

void decode(ElementCodec codec, DType type, const uint16_t* from, void* to, int64_t count,
            Queue& queue) {
    with_type(type, [&]<class T>() {
        convert<Decode, uint16_t, T>("decode", codec, from, to, count, queue);
    });
}

void quantize(ElementCodec codec, DType type, const void* from, void* to, int64_t count,
              Queue& queue) {
    with_type(type, [&]<class T>() {
        convert<Quantize, T, T>("quantize", codec, from, to, count, queue);
    });
}

}  // namespace dbench::arena
