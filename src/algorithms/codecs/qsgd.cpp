// QSGD (Alistarh et al. 2017, arXiv 1610.02132): each element as a whole number xi of s = 2^bits -
// 1 levels of the tensor's norm, rounded up or down by chance,
//
//     Q(v) = ||v|| sign(v) xi / s,   xi in 0 .. s,   E Q(v) = v;
//
// where biased, times 1 / (1 + min(numel / s^2, sqrt(numel) / s)), which makes it a contraction
// (Koloskova et al. 2019, arXiv 1902.00340). bits + 1 bits an element, and one value.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/in_parts.hpp"

namespace dbench::algorithms {

CodecEntry qsgd_codec() {
    return {
        {"qsgd",
         "levels of each tensor's norm, rounded by chance",
         {base::Parameter::integer("bits", "4", "of an element beside its sign: 2^bits - 1 levels")
              .at_least(1)
              .at_most(16),
          base::Parameter::flag("unbiased", "false",
                                "not scaled down to a contraction: the mean over draws is v")}},
        [](const base::Json& spec) {
            return codec_in_parts(arena::Levels{spec.at("bits"), spec.at("unbiased")});
        },
        true};
}

}  // namespace dbench::algorithms
