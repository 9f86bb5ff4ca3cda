#pragma once
// A function that all partitions use.

#include <cstdint>

#include "data/dataset.hpp"

namespace dbench::data {

/// Returns where the block of replica `replica` begins if N items are divided into n blocks:
/// floor(i N / n).
int64_t block_begin(int64_t replica, int64_t replicas, int64_t items);

}  // namespace dbench::data
