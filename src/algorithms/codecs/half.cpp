// The codecs bfloat16 and float16: 16 bits per element. Values are rounded to nearest, or
// stochastically: to one of the two neighbouring values, with expectation equal to the value.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {
namespace {

struct HalfSpec {
    bool stochastic;

    static const base::Section<HalfSpec>& section();
};

const base::Section<HalfSpec>& HalfSpec::section() {
    static const base::Section<HalfSpec> keys{
        {base::Parameter::flag("stochastic", "false", "rounds up or down at random, without bias"),
         &HalfSpec::stochastic},
    };
    return keys;
}

template <arena::ElementCodec form>
std::unique_ptr<Codec> make_half(const HalfSpec& spec) {
    return make_fixed_width_codec(arena::Halves{form, spec.stochastic});
}

}  // namespace

CodecEntry bfloat16_codec() {
    return {"bfloat16", "16 bits: the range of float32, 8 bits of precision",
            make_half<arena::ElementCodec::bfloat16>};
}

CodecEntry float16_codec() {
    return {"float16", "16 bits: up to 65504, 11 bits of precision",
            make_half<arena::ElementCodec::float16>};
}

}  // namespace dbench::algorithms
