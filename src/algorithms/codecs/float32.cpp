// No compression: values as they are, in the precision of the run.

#include "algorithms/codecs/codec.hpp"
#include "algorithms/codecs/wire.hpp"

namespace dbench::algorithms {
namespace {

struct Whole {
    template <class T>
    int64_t bytes(const arena::Tensor& tensor) const {
        return tensor.numel * static_cast<int64_t>(sizeof(T));
    }
    template <class T>
    void encode(const Coding& coding, const T* from, char* to) const {
        std::memcpy(to, from, static_cast<size_t>(coding.numel()) * sizeof(T));
    }
    template <class T>
    void add(const Coding& coding, const char* message, T factor, T* out) const {
        for (int64_t c = 0; c < coding.numel(); ++c) out[c] += factor * read_at<T>(message, c);
    }
};

}  // namespace

CodecEntry float32_codec() {
    return {{"float32", "parameters and gradients travel as they are", {}},
            [](const base::Json&) { return codec_of(Whole()); }};
}

}  // namespace dbench::algorithms
