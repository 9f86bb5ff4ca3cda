// 16 bits an element: bfloat16, or IEEE float16; rounded to the nearest, or to one of the two
// neighbours by chance, so that the mean over many messages is v.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/in_parts.hpp"

namespace dbench::algorithms {
namespace {

std::vector<base::Parameter> keys() {
    return {
        base::Parameter::flag("stochastic", "false", "rounds up or down by chance, without bias")};
}

}  // namespace

CodecEntry bfloat16_codec() {
    return {{"bfloat16", "16 bits: the range of float32, 8 bits of precision", keys()},
            [](const base::Json& spec) {
                return codec_in_parts(arena::Halves{arena::Codec::bfloat16, spec.at("stochastic")});
            }};
}

CodecEntry float16_codec() {
    return {{"float16", "16 bits: up to 65504, 11 bits of precision", keys()},
            [](const base::Json& spec) {
                return codec_in_parts(arena::Halves{arena::Codec::float16, spec.at("stochastic")});
            }};
}

}  // namespace dbench::algorithms
