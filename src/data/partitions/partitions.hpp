#pragma once
// The rows of the partition table, one source file each.

#include <cstdint>

#include "data/dataset.hpp"

namespace dbench::data {

PartitionEntry shuffled_partition();
PartitionEntry contiguous_partition();
PartitionEntry iid_partition();
PartitionEntry dirichlet_partition();
PartitionEntry by_label_partition();

/// Where replica `replica`'s block begins when N items are dealt in n blocks: floor(i N / n).
int64_t block_begin(int64_t replica, int64_t replicas, int64_t items);

}  // namespace dbench::data
