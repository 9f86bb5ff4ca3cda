#pragma once
// What codecs share that send a part of the elements.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/family.hpp"

namespace dbench::algorithms {

/// k of a tensor: at least one.
inline int64_t kept(double ratio, int64_t numel) {
    return std::max<int64_t>(1,
                             static_cast<int64_t>(std::floor(ratio * static_cast<double>(numel))));
}

inline base::Parameter ratio_parameter() {
    return base::Parameter::number("ratio", "0.01", "share of each tensor's elements that is sent")
        .greater_than(0)
        .at_most(1);
}

}  // namespace dbench::algorithms
