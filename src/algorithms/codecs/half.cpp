// The codecs bfloat16 and float16: 16 bits per element. Values are rounded to nearest, or at random
// to one of the two neighbouring values such that the mean over many messages is v.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {
namespace {

std::vector<base::Parameter> keys() {
    return {
        base::Parameter::flag("stochastic", "false", "rounds up or down at random, without bias")};
}

}  // namespace

CodecEntry bfloat16_codec() {
    return {{"bfloat16", "16 bits: the range of float32, 8 bits of precision", keys()},
            [](const base::Json& spec) {
                return make_fixed_width_codec(
                    arena::Halves{arena::Codec::bfloat16, spec.at("stochastic")});
            }};
}

CodecEntry float16_codec() {
    return {{"float16", "16 bits: up to 65504, 11 bits of precision", keys()},
            [](const base::Json& spec) {
                return make_fixed_width_codec(
                    arena::Halves{arena::Codec::float16, spec.at("stochastic")});
            }};
}

}  // namespace dbench::algorithms
