// The codec sign: sends the sign of each element and the tensor's mean magnitude, Q(v) = ||v||_1 /
// numel sign(v), with sign(0) = +1. A message has one bit per element and one value per tensor.

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {

namespace {

std::unique_ptr<Codec> make_sign(const base::NoKeys&) {
    return make_fixed_width_codec(arena::Signs());
}

}  // namespace

CodecEntry sign_codec() {
    return {"sign", "one bit per element, and each tensor's mean magnitude", make_sign};
}

}  // namespace dbench::algorithms
