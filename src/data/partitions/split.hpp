#pragma once
// What partitions that own their samples for good have in common, and their random streams.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// A split made once: block i of `split` (of M samples: floor(iM/n) .. floor((i+1)M/n)-1) is
/// replica i's in every epoch, each time in a new order keyed by (seed, epoch, replica).
std::unique_ptr<Partition> fixed_split(std::vector<int64_t> split, const DataContext& context);

/// `samples` cut into one list per class, in the order in which they come.
std::vector<std::vector<int64_t>> grouped_by_label(const Dataset& train,
                                                   const std::vector<int64_t>& samples);

/// Throws UserError where the samples have real targets; `name` is the partition's.
void require_labels(const Dataset& train, const std::string& name);

/// Streams of base::Purpose::partition: their first word. `iid` has the stream without words.
enum class SplitStream : uint64_t {
    dirichlet_shares = 1,  ///< and the replica
    dirichlet_labels = 2,  ///< likewise
    dirichlet_samples = 3,
    by_label_samples = 4,
    by_label_order = 5,
    by_label_shards = 6,  ///< and the round
};
base::Random split_random(uint64_t seed, SplitStream stream, uint64_t word = 0);

}  // namespace dbench::data
