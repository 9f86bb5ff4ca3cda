// No compression: values as they are, in the precision of the run.

#include "algorithms/codecs/in_parts.hpp"

namespace dbench::algorithms {

CodecEntry float32_codec() {
    return {{"float32", "parameters and gradients travel as they are", {}},
            [](const base::Json&) { return codec_in_parts(arena::Whole()); }};
}

}  // namespace dbench::algorithms
