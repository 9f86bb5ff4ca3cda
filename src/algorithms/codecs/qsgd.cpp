// The codec qsgd (QSGD: Alistarh et al. 2017, arXiv 1610.02132). With s = 2^bits - 1, each element
// is quantized stochastically to one of the levels 0, ||v||/s, ..., ||v|| of the tensor's norm; xi
// is the level's number:
//
//     Q(v) = ||v|| sign(v) xi / s,   xi in 0 .. s,   E Q(v) = v
//
// If biased, Q(v) is multiplied by 1 / (1 + min(numel / s^2, sqrt(numel) / s)), which makes it a
// contraction (Koloskova et al. 2019, arXiv 1902.00340). A message has bits + 1 bits per element
// and one value per tensor.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {

namespace {

struct QsgdSpec {
    int64_t bits;   ///< Bits per element without its sign.
    bool unbiased;  ///< Not scaled down to a contraction.

    static const base::Section<QsgdSpec>& section();
};

const base::Section<QsgdSpec>& QsgdSpec::section() {
    static const base::Section<QsgdSpec> keys{
        {base::Parameter::integer("bits", "4",
                                  "bits per element without its sign: 2^bits - 1 levels")
             .at_least(1)
             .at_most(16),
         &QsgdSpec::bits},
        {base::Parameter::flag("unbiased", "false",
                               "not scaled down to a contraction: the mean over draws is v"),
         &QsgdSpec::unbiased},
    };
    return keys;
}

std::unique_ptr<Codec> make_qsgd(const QsgdSpec& spec) {
    return make_fixed_width_codec(arena::Levels{static_cast<int>(spec.bits), spec.unbiased});
}

}  // namespace

CodecEntry qsgd_codec() {
    return {"qsgd", "levels of each tensor's norm, rounded at random", make_qsgd, true};
}

}  // namespace dbench::algorithms
