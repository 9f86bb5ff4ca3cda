#pragma once
// Checks of the moments over replicas. Each returns "" or a description of the error.

#include "comm/ranks.hpp"

namespace dbench::comm::tests {

struct MomentsSeen {
    std::vector<double> m2, mean;
    uint64_t bytes;
};

inline MomentsSeen moments_of(World& world, int n, const arena::Layout& layout, arena::DType type) {
    const Placement placement{n, world.size()};
    Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
    const arena::Buffer x =
        replicas(layout, type, placement.begin(world.rank()), placement.count(world.rank()));
    MomentsSeen seen;
    seen.mean.assign(static_cast<size_t>(layout.columns()), 0.0);
    const SecondMoments spread = exchange.moments(x.rows(), seen.mean.data());
    seen.m2 = spread.m2;
    seen.bytes = spread.bytes;
    const SecondMoments without_mean = exchange.moments(x.rows(), nullptr);
    if (without_mean.m2 != seen.m2) seen.m2.clear();
    return seen;
}

inline std::string check_moments(World& world, int n, const arena::Layout& layout,
                                 arena::DType type, const MomentsSeen& expected) {
    const MomentsSeen seen = moments_of(world, n, layout, type);
    if (seen.m2 != expected.m2) return "m2 depends on the split or on whether the mean is wanted";
    for (const arena::Tensor& tensor : layout.tensors()) {
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
            if (seen.mean[c] != expected.mean[c]) {
                return "the mean of column " + std::to_string(c) + " depends on the split";
            }
        }
    }
    return "";
}

}  // namespace dbench::comm::tests
