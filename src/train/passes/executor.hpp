#pragma once
// The folder `passes`: how minibatches become gradients. The Executor computes the gradients of all
// local replicas and writes them straight into the arena's gradient rows.
//
// Order of events in an iteration: the trainer gives algorithms::Stepper a function that calls
// Executor::gradients(). For each local replica in order, the Executor takes the minibatch from the
// loader, copies it to the device (batches/uploads.hpp), and submits one pass to the device. A pass
// is one of: a ReplicaPass (one replica), a StackedPass (all local replicas at once), or the replay
// of either from CapturedPasses. stacking.hpp and capture.hpp decide which.
//
// A gradient bucket travels while backward still runs:
// 1. LibTorch calls the hook of a parameter's gradient (ReplicaPass, StackedPass). The hook moves
//    the gradient into the replica's gradient row, or records it for step 3, and calls
//    BucketWatch::complete(). Only the last replica's pass reports buckets: by then all other
//    replicas have their gradients.
// 2. BucketWatch finds that all tensors of a bucket, and of all buckets before it, are complete.
// 3. It calls `collect`: GradientParts writes the bucket's recorded gradients into the row in one
//    launch (devices only).
// 4. It calls the Stepper's `ready`. For a ReplicaPass, a function of the Executor stands in
//    between (`ready_after_all`), which first orders the step's queue after the passes on other
//    queues.
// 5. The Stepper measures the gradient, cuts the bucket into tiles and calls
//    Algorithm::ready(step, tile), which updates the parameters of these columns and starts their
//    exchange. With gradient clipping this happens only after the whole backward.
// If a pass is captured, steps 1 to 3 happen once, in the capture. In each iteration the Executor
// then launches the replay and, for each bucket, makes the step's queue wait for the end of the
// bucket's part of the replay and continues with step 4.

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/linearisation.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/pass_options.hpp"

namespace dbench::train {

class Model;
class Replicas;

/// Serves one rank; the thread that trains makes all calls. Keeps references to `model` and
/// `replicas`.
class Executor {
public:
    Executor(const Model& model, Replicas& replicas, const PassOptions& options = {});
    ~Executor();

    /// Writes the gradients of the mean minibatch loss at x in iteration t into the gradient rows
    /// of all local replicas. Calls `ready` once for each bucket, in order, during the last
    /// replica's backward, when the bucket's columns are complete on all local replicas. Writes
    /// losses and accuracies to loss[R], accuracy[R]. On a device all this is only submitted: what
    /// `ready` launches is ordered after the bucket's gradients. If the pass is captured, these
    /// launches run concurrently with the rest of backward.
    void gradients(int64_t t, arena::Rows x, data::Loader& loader, algorithms::Timers& timers,
                   const std::function<void(arena::Columns)>& ready, double* loss,
                   double* accuracy);
    /// Returns the minibatch of the local replica i, which stays valid until the following call.
    using BatchOf = std::function<const data::Batch&(int64_t i)>;
    /// Does the same on the minibatches that `batch` returns.
    void gradients(int64_t t, arena::Rows x, const BatchOf& batch, algorithms::Timers& timers,
                   const std::function<void(arena::Columns)>& ready, double* loss,
                   double* accuracy);

    /// Writes the gradient of the local replica i alone, at row i of x, on `batch`, into its
    /// gradient row. `t` is the replica's own iteration. Returns the minibatch's loss and accuracy,
    /// for which the host waits.
    struct Scores {
        double loss, accuracy;
    };
    Scores gradient(int64_t t, arena::Rows x, int64_t i, const data::Batch& batch,
                    algorithms::Timers& timers);

    /// Writes into the gradient rows, for every local replica, the gradient at x of the distance
    /// between the model's outputs and those at `teacher` (same shape as x) on `batch` (see
    /// algorithms::Distillation). BatchNorm uses the minibatch's statistics, and its running
    /// statistics are not modified. Texts start without carried state. Both models drop the same
    /// units as training in iteration t.
    void distil(int64_t t, arena::Rows x, arena::Rows teacher, const BatchOf& batch,
                double temperature, algorithms::Timers& timers);

    /// Linearises the model at the parameters at `weights` (a row or a received message, in memory
    /// that the host can read) on `batch`, and writes the result to `out`: one backward pass for
    /// each output of each sample. No gradient row is modified. BatchNorm reads the running
    /// statistics of the local replica i. The host waits for the device first, and `out` is
    /// complete on return.
    void linearise(const char* weights, int64_t i, const data::Batch& batch,
                   const algorithms::Linearised& out, algorithms::Timers& timers) const;
    /// Returns the mean loss on `batch` at the parameters at `weights`; see linearise().
    double loss(const char* weights, int64_t i, const data::Batch& batch,
                algorithms::Timers& timers) const;

    /// Returns why passes that should be captured are not, or no longer are; "" if they are.
    std::string uncaptured() const;
    /// Returns the seconds of forward passes in gradients() since the last call. NaN if they are
    /// not known: the passes of several replicas are run together, or a device computes.
    double take_forward_seconds();

    /// Estimates the seconds that one replica's gradient takes, from forward passes on `batch` that
    /// modify nothing.
    double estimate_seconds(const data::Batch& batch);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
