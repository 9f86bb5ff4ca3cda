#pragma once
// Functions for partitions that assign samples to replicas once, and their random streams.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/streams.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// Returns a partition with a fixed split: block i of `split` (floor(iM/n) .. floor((i+1)M/n)-1 of
/// its M samples) belongs to replica i in every epoch. The order within the block changes every
/// epoch and depends on (seed, epoch, replica).
std::unique_ptr<Partition> fixed_split(std::vector<int64_t> split, const DataContext& context);

/// Returns a partition in which `parts[i]` belongs to replica i in every epoch, in an order drawn
/// as above. The parts may differ in size, and may share samples. `source`: the file that was read.
std::unique_ptr<Partition> fixed_parts(std::vector<std::vector<int64_t>> parts,
                                       const DataContext& context, base::InputDigest source);

/// Returns `samples` divided into one list per class; each list keeps their order.
std::vector<std::vector<int64_t>> grouped_by_label(const Dataset& train,
                                                   const std::vector<int64_t>& samples);

/// Throws UserError if samples do not have one class each; `name` is that of the partition.
void require_labels(const Dataset& train, const std::string& name);

/// Returns the stream with one further word (base/streams.hpp).
base::Random split_random(uint64_t seed, base::PartitionStream stream, uint64_t word = 0);

}  // namespace dbench::data
