#pragma once
// The gradient of one local replica: LibTorch's tensors over its rows, forward and backward, and
// what comes of it into the gradient row.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/bucket_watch.hpp"
#include "train/passes/device_scores.hpp"
#include "train/passes/passes.hpp"

namespace dbench::train {

class Model;
class Replicas;

class ReplicaPass {
public:
    /// All that is referred to outlives it. `turns`: passes that are under way at a time, on
    /// queues that replicas take in turn.
    ReplicaPass(const Model& model, Replicas& replicas, const Passes& passes, int64_t turns,
                BucketWatch& watch);
    ~ReplicaPass();

    using Ready = BucketWatch::Ready;

    /// The gradient of the mean minibatch loss at row i of x into the gradient row i, loss and
    /// accuracy to `sums`; in iteration t, or of a pass that has begun. `ready`: told of buckets by
    /// the last part's backward and the watch's end, until which it lives; null: nobody is.
    /// LibTorch computes on `queue`; null: at once.
    void gradient(const arena::Rows& x, int64_t i, const data::Batch& batch,
                  std::optional<int64_t> t, const Ready* ready, const Sums& sums,
                  arena::Queue* queue);
    /// The gradient of the distance from the teacher, see Executor::distil.
    void distil(const arena::Rows& x, const arena::Rows& teacher, int64_t i,
                const data::Batch& batch, int64_t t, double temperature, arena::Queue* queue);

    /// Whether a pass has a beginning: draws, or a state that texts begin without.
    bool begins() const;
    void begin(const arena::Rows& x, int64_t i, const data::Batch& batch, int64_t t);
    std::vector<arena::Access> beginning(int64_t i) const;  ///< what that touches

    /// What a pass of the local replica i writes that is its own.
    std::vector<arena::Access> memory(int64_t i) const;
    /// After a gradient that has failed.
    void stop(const arena::Rows& x, int64_t i);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
