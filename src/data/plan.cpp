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

BatchPlan plan_batches(const BatchSize& batch_size, const Partition& partition, int64_t replicas,
                       int64_t samples) {
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
    const int64_t all = std::max(samples, total);  // Replicas may share samples.
    if (smallest == 0) {
        throw UserError("/replicas: replica " + std::to_string(smallest_replica) +
                        " gets no training samples (" + std::to_string(all) + " for " +
                        std::to_string(replicas) + " replicas): use fewer replicas or more data");
    }
    const auto unused = [all](int64_t used) {
        return 1.0 - static_cast<double>(used) / static_cast<double>(all);
    };
    if (batch_size.unit == BatchSize::Unit::partition)
        return {smallest, true, 1, unused(total), total, partition.stream()};

    const int64_t batch = per_replica(batch_size, replicas);
    if (batch > smallest) {
        const bool global = batch_size.unit == BatchSize::Unit::all;
        const int64_t most = global ? smallest * replicas : smallest;
        throw UserError(std::string("/data/batch_size") + (global ? "/global" : "") +
                        ": a batch of " + std::to_string(batch) + " is more than the " +
                        std::to_string(smallest) + " training samples of replica " +
                        std::to_string(smallest_replica) + ": use at most " + std::to_string(most) +
                        ", or " + (global ? "\"batch_size\": " : "") + "\"full\"");
    }
    const int64_t epoch = smallest / batch;
    return {batch,
            false,
            epoch,
            unused(epoch * batch * replicas),
            batch * replicas,
            partition.stream()};
}

}  // namespace dbench::data
