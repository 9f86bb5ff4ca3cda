#pragma once
// Gradients of all local replicas, one module in turn, accumulated straight into the arena.

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/linearisation.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/passes.hpp"

namespace dbench::train {

class Model;
class Replicas;

class Executor {
public:
    Executor(const Model& model, Replicas& replicas, const Passes& passes = {});
    ~Executor();

    /// Gradients of the mean minibatch loss at x in iteration t, for every local replica, into the
    /// replicas' gradient rows. Calls `ready` once for each bucket, in order, when its columns are
    /// complete on all local replicas: inside the last one's backward. Losses and accuracies go to
    /// loss[R], accuracy[R]. All that is put on the replicas' device, where there is one: `ready`
    /// is called when what it launches there finds the bucket complete, beside the rest of backward
    /// where that is captured.
    void gradients(int64_t t, arena::Rows x, data::Loader& loader, algorithms::Timers& timers,
                   const std::function<void(arena::Columns)>& ready, double* loss,
                   double* accuracy);
    /// The minibatch of the local replica i; valid until the following call.
    using BatchOf = std::function<const data::Batch&(int64_t i)>;
    /// The same on these minibatches.
    void gradients(int64_t t, arena::Rows x, const BatchOf& batch, algorithms::Timers& timers,
                   const std::function<void(arena::Columns)>& ready, double* loss,
                   double* accuracy);

    /// The gradient of the local replica i alone, in its iteration t, at row i of x, on `batch`,
    /// into its gradient row; the minibatch's loss and accuracy, for which the host waits.
    struct Scores {
        double loss, accuracy;
    };
    Scores gradient(int64_t t, arena::Rows x, int64_t i, const data::Batch& batch,
                    algorithms::Timers& timers);

    /// Gradients at x of how far the model's outputs are from those at `teacher` (same shape as x)
    /// on `batch`, see algorithms::Distillation, for every local replica, into the replicas'
    /// gradient rows. BatchNorm takes the minibatch's statistics, and its running ones stay; texts
    /// begin, and both models drop what training in iteration t drops.
    void distil(int64_t t, arena::Rows x, arena::Rows teacher, const BatchOf& batch,
                double temperature, algorithms::Timers& timers);

    /// The model around the parameters at `weights` (the memory of a row, anyone's) on `batch`,
    /// into `out`: a backward pass for each output of each sample. No gradient row is touched;
    /// BatchNorm would take the running statistics of the local replica i, which stay. The host
    /// waits for the device first, and has the result on return.
    void linearise(const char* weights, int64_t i, const data::Batch& batch,
                   const algorithms::Linearised& out, algorithms::Timers& timers) const;
    /// Mean loss on `batch` at the same parameters.
    double loss(const char* weights, int64_t i, const data::Batch& batch,
                algorithms::Timers& timers) const;

    /// Why passes that were to be captured are not, or no more; "" where they are.
    std::string uncaptured() const;

    /// Seconds that one replica's gradient takes, estimated from forward passes on `batch` that
    /// change nothing.
    double estimate_seconds(const data::Batch& batch);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
