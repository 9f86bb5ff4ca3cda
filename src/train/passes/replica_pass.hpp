#pragma once  // Private to train/passes.
// The pass of one local replica: forward, backward, and the hooks that move each gradient into the
// replica's gradient row as soon as backward has computed it (executor.hpp).

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/bucket_watch.hpp"
#include "train/passes/device_scores.hpp"
#include "train/passes/pass_options.hpp"

namespace dbench::train {

class Model;
class Replicas;

/// Runs passes of single replicas. The Executor calls gradient() and distil() in work that it
/// submits to the device.
class ReplicaPass {
public:
    /// All references must outlive this object. `streams` is the number of queues on which
    /// passes run concurrently: replicas use them round robin.
    ReplicaPass(const Model& model, Replicas& replicas, const PassOptions& options, int64_t streams,
                BucketWatch& watch);
    ~ReplicaPass();

    using Ready = BucketWatch::Ready;

    /// Writes the gradient of the mean minibatch loss at row i of x into gradient row i, and loss
    /// and accuracy to `sums`. `t` is the iteration; none: prepare() has already been called. The
    /// BucketWatch reports buckets to *ready during the last micro-batch's backward and in its
    /// finish(), so `ready` must live until then; null: no reports. LibTorch computes on `queue`.
    void gradient(const arena::Rows& x, int64_t i, const data::Batch& batch,
                  std::optional<int64_t> t, const Ready* ready, const ScoreMemory& sums,
                  arena::Queue& queue);
    /// Returns the seconds of forward passes in gradient() since the last call, by the host's
    /// clock.
    double take_forward_seconds();
    /// Writes the gradient of the distance from the teacher, see Executor::distil.
    void distil(const arena::Rows& x, const arena::Rows& teacher, int64_t i,
                const data::Batch& batch, int64_t t, double temperature, arena::Queue& queue);

    /// True if a pass needs prepare(): the model draws random numbers, or carries state that the
    /// start of a text clears.
    bool needs_preparation() const;
    void prepare(const arena::Rows& x, int64_t i, const data::Batch& batch, int64_t t);
    std::vector<arena::Access> preparation_accesses(
        int64_t i) const;  ///< the memory that prepare() touches

    /// Lists the memory that a pass of the local replica i writes in addition to the replica's
    /// rows.
    std::vector<arena::Access> memory(int64_t i) const;
    /// Cleans up after a gradient that has failed.
    void stop(const arena::Rows& x, int64_t i);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
