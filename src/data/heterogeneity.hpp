#pragma once
// How different the label distributions of the replicas are.

#include <cstdint>
#include <optional>

#include "data/dataset.hpp"

namespace dbench::data {

struct Heterogeneity {
    int64_t labels_min = 0,
            /// Least and largest number of labels that a replica sees in its first epoch.
        labels_max = 0;
    double labels_mean = 0;
    int64_t classes = 0;  ///< Labels in the whole training set.
    /// Mean over the replicas of the total-variation distance between a replica's label shares and
    /// those of the whole set, 1/2 sum_c |share_ic - share_c|. 0: all alike; near 1: nothing in
    /// common.
    double total_variation = 0;
};

/// Returns the heterogeneity of the samples of epoch 0; empty if samples have no class. O(N + n
/// classes).
std::optional<Heterogeneity> heterogeneity(const Dataset& train, const Partition& partition,
                                           int64_t replicas);

}  // namespace dbench::data
