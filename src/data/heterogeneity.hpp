#pragma once
// How unlike the replicas' labels are.

#include <cstdint>
#include <optional>

#include "data/dataset.hpp"

namespace dbench::data {

struct Heterogeneity {
    int64_t labels_min = 0, labels_max = 0;  ///< labels that a replica sees in its first epoch
    double labels_mean = 0;
    int64_t classes = 0;  ///< labels in the whole training set
    /// Mean over the replicas of the total-variation distance between a replica's label shares and
    /// the whole set's, 1/2 sum_c |share_ic - share_c|: 0 alike, towards 1 nothing in common.
    double total_variation = 0;
};

/// Of the samples of epoch 0. Nothing where targets are real numbers. O(N + n classes).
std::optional<Heterogeneity> heterogeneity(const Dataset& train, const Partition& partition,
                                           int64_t replicas);

}  // namespace dbench::data
