#pragma once  // Private to train/passes.
// The gradients of all local replicas in one pass: LibTorch's vmap runs the model on tensors that
// hold the rows of all replicas, so that many small operations become one large one.

#include <functional>
#include <memory>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/device_scores.hpp"

namespace dbench::train {

class Model;
class Replicas;
class ResidentImages;

/// Runs passes of all local replicas. The Executor calls join_batches() and then, in work that it
/// submits to the device, gradients().
class StackedPass {
public:
    /// algorithms::batched_obstacle of the model must be "". `smoothing`: see Model::loss;
    /// `resident`: see PassOptions.
    StackedPass(const Model& model, Replicas& replicas, double smoothing,
                ResidentImages* resident = nullptr);
    ~StackedPass();

    /// Returns the minibatch of the local replica i, valid until the following call; called in
    /// order. All minibatches must have the same number of samples and of terms.
    using BatchOf = std::function<const data::Batch&(int64_t i)>;
    /// Joins the minibatches of R replicas into one. On the host the result is valid until the
    /// following call; on a device for as long as the caller keeps the pointer. If inputs are
    /// windows of stored images, they are gathered on the compute queue.
    std::shared_ptr<const data::Batch> join_batches(int64_t replicas, const BatchOf& batch);
    /// Writes the gradient of each local replica's mean loss at its row of x, on its part of `all`,
    /// into its gradient row, and losses and accuracies to `sums` [R]. `all` comes from
    /// join_batches(). Updates each replica's running statistics of BatchNorm from its own
    /// minibatch. During backward it calls `complete` with a tensor's number in the layout when
    /// that tensor's gradient is in the rows or ready for collect(); for a tensor that no gradient
    /// reaches it is not called. LibTorch computes on `queue`. On a GPU the host waits for
    /// none of it.
    void gradients(arena::Rows x, const data::Batch& all, const ScoreMemory& sums,
                   const std::function<void(int tensor)>& complete, arena::Queue& queue);
    /// During backward: writes the gradients of `columns` that are ready into the rows. After
    /// backward all are there.
    void collect(arena::Columns columns, arena::Queue& queue);
    /// Lists the memory that a pass writes in addition to the replicas' rows.
    std::vector<arena::Access> memory() const;
    /// Cleans up after gradients that have failed.
    void stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
