// How an epoch is divided into batches (declared in loader.hpp).

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "data/loader.hpp"

namespace dbench::data {
namespace {

using base::UserError;

int64_t per_replica(const BatchSize& batch_size, int64_t replicas) {
    if (batch_size.unit == BatchSize::Unit::replica) return batch_size.samples;
    if (batch_size.unit == BatchSize::Unit::tokens) return 1;  // A sample is a whole bucket.
    const int64_t global = batch_size.samples;
    if (global % replicas == 0) return global / replicas;
    const int64_t below = global / replicas * replicas;
    std::string near = std::to_string(below + replicas);
    if (below > 0) near = std::to_string(below) + " or " + near;
    throw UserError("/data/batch_size/global: " + std::to_string(global) +
                    " samples cannot be divided evenly among " + std::to_string(replicas) +
                    " replicas: the nearest possible number is " + near);
}

}  // namespace

BatchPlan plan_batches(const BatchSize& batch_size, const Partition& partition, int64_t replicas) {
    DBENCH_EXPECT(replicas >= 1);
    int64_t smallest = partition.size(0), total = 0, smallest_replica = 0;
    for (int64_t i = 0; i < replicas; ++i) {
        const int64_t size = partition.size(i);
        total += size;
        if (size < smallest) {
            smallest = size;
            smallest_replica = i;
        }
    }
    if (smallest == 0) {
        throw UserError("/replicas: replica " + std::to_string(smallest_replica) +
                        " gets no training samples (" + std::to_string(total) + " for " +
                        std::to_string(replicas) + " replicas): use fewer replicas or more data");
    }
    if (batch_size.unit == BatchSize::Unit::partition)
        return {smallest, true, 1, 0.0, total, partition.stream()};

    const int64_t batch = per_replica(batch_size, replicas);
    if (batch > smallest) {
        throw UserError("/data/batch_size: a batch of " + std::to_string(batch) +
                        " is more than the " + std::to_string(smallest) +
                        " training samples of replica " + std::to_string(smallest_replica) +
                        ": use at most " + std::to_string(smallest) + ", or \"full\"");
    }
    const int64_t epoch = smallest / batch;
    const double used = static_cast<double>(epoch * batch * replicas);
    return {batch,
            false,
            epoch,
            1.0 - used / static_cast<double>(total),
            batch * replicas,
            partition.stream()};
}

}  // namespace dbench::data
