#pragma once
// What the rows of the partition table share.

#include <cstdint>

#include "data/dataset.hpp"

namespace dbench::data {

/// Where replica `replica`'s block begins when N items are dealt in n blocks: floor(i N / n).
int64_t block_begin(int64_t replica, int64_t replicas, int64_t items);

}  // namespace dbench::data
