// The codec float32: no compression. Values are sent in the precision of the run.

#include "algorithms/codecs/fixed_width.hpp"

namespace dbench::algorithms {

CodecEntry float32_codec() {
    return {{"float32", "parameters and gradients are sent uncompressed", {}},
            [](const base::Json&) { return make_fixed_width_codec(arena::Whole()); }};
}

}  // namespace dbench::algorithms
