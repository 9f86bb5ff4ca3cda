#pragma once
// Gradients of all local replicas, one module in turn, accumulated straight into the arena.

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/step/timers.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"

namespace dbench::train {

class Model;
class Replicas;

/// Ranges of whole tensors in the order in which backward completes them (last tensors first):
/// about eight, of at least 64 KiB and at most 25 MiB.
std::vector<arena::Columns> gradient_buckets(const arena::Layout& layout, arena::DType type);

class Executor {
public:
    /// `dropout_seed`: where the model draws random numbers, they are keyed by it, the replica and
    /// the iteration.
    Executor(const Model& model, Replicas& replicas, uint64_t dropout_seed = 0);
    ~Executor();

    /// Gradients of the mean minibatch loss at x in iteration t, for every local replica, into the
    /// replicas' gradient rows. Calls `ready` once for each bucket, in order, when its columns are
    /// complete on all local replicas: inside the last one's backward. Losses and accuracies go to
    /// loss[R], accuracy[R].
    void gradients(int64_t t, arena::Rows x, data::Loader& loader, algorithms::Timers& timers,
                   const std::function<void(arena::Columns)>& ready, double* loss,
                   double* accuracy);

    /// The minibatch of the local replica i; valid until the following call.
    using BatchOf = std::function<const data::Batch&(int64_t i)>;
    /// Gradients at x of how far the model's outputs are from those at `teacher` (same shape as x)
    /// on `batch`, see algorithms::Distillation, for every local replica, into the replicas'
    /// gradient rows. BatchNorm takes the minibatch's statistics, and its running ones stay; texts
    /// begin, and both models drop what training in iteration t drops.
    void distil(int64_t t, arena::Rows x, arena::Rows teacher, const BatchOf& batch,
                double temperature, algorithms::Timers& timers);

    /// Seconds that one replica's gradient takes, estimated from forward passes on `batch` that
    /// change nothing.
    double estimate_seconds(const data::Batch& batch);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
