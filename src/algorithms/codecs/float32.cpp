// The codec float32: no compression. Values are sent in the precision of the run.

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {

namespace {

std::unique_ptr<Codec> make_float32(const base::NoKeys&) {
    return make_fixed_width_codec(arena::Whole());
}

}  // namespace

CodecEntry float32_codec() {
    return {"float32", "parameters and gradients are sent uncompressed", make_float32};
}

}  // namespace dbench::algorithms
