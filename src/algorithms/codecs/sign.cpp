// The sign of each element, and the tensor's mean magnitude: Q(v) = ||v||_1 / numel sign(v), with
// sign(0) = +1. A bit an element, and one value.

#include "algorithms/codecs/in_parts.hpp"

namespace dbench::algorithms {

CodecEntry sign_codec() {
    return {{"sign", "a bit for each element, and each tensor's mean magnitude", {}},
            [](const base::Json&) { return codec_in_parts(arena::Signs()); }};
}

}  // namespace dbench::algorithms
