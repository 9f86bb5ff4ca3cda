#pragma once
// Helpers of codecs that send only some of the elements.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "arena/messages/chosen_parts.hpp"
#include "base/family.hpp"

namespace dbench::algorithms {

/// Returns k for each tensor: at least 1.
inline std::vector<int64_t> kept(double ratio, const arena::Layout& layout) {
    std::vector<int64_t> all;
    for (const arena::Tensor& tensor : layout.tensors()) {
        const double k = std::floor(ratio * static_cast<double>(tensor.numel));
        all.push_back(std::max<int64_t>(1, static_cast<int64_t>(k)));
    }
    return all;
}

/// The key `ratio`.
inline base::Parameter ratio_parameter() {
    return base::Parameter::number("ratio", "0.01", "share of each tensor's elements that is sent")
        .greater_than(0)
        .at_most(1);
}

}  // namespace dbench::algorithms
