#pragma once
// Gradients of all local replicas in one pass: a model's function over tensors that hold the rows
// of all of them, so that a product of matrices becomes as many at once.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "data/loader.hpp"
#include "train/passes/device_scores.hpp"

namespace dbench::train {

class Model;
class Replicas;
class ResidentImages;

/// Why a model's replicas cannot pass it together; "" where they can.
std::string cannot_stack(const Model& model);

class StackedPass {
public:
    /// The model is one that can; `smoothing`: see Model::loss; `resident`: see Passes.
    StackedPass(const Model& model, Replicas& replicas, double smoothing,
                ResidentImages* resident = nullptr);
    ~StackedPass();

    /// The minibatch of the local replica i, valid until the following call; asked for in order.
    /// All have as many samples, and as many terms.
    using BatchOf = std::function<const data::Batch&(int64_t i)>;
    /// The minibatches of R replicas one after another, as one: on the host valid until the
    /// following call; where the replicas train on a device, for as long as it is held. Inputs that
    /// are windows are put on its compute queue.
    std::shared_ptr<const data::Batch> join(int64_t replicas, const BatchOf& batch);
    /// Gradients of each local replica's mean loss at its row of x on its part of `all`, the
    /// joined minibatches, into its gradient row; its loss and accuracy into loss[R], accuracy[R].
    /// Running statistics of BatchNorm move, each replica's by its own minibatch. Tells `complete`
    /// of each tensor, by its number in the layout, inside backward, when its gradient is there, in
    /// the rows or to be collected; of one that no gradient reaches, never. LibTorch computes on
    /// `queue`, null: at once. On a card the host waits for none of it.
    void gradients(arena::Rows x, const data::Batch& all, const Sums& sums,
                   const std::function<void(int tensor)>& complete, arena::Queue* queue);
    /// Brings what is there of some columns' gradients into the rows, inside backward; all are
    /// there after it.
    void collect(arena::Columns columns, arena::Queue* queue);
    /// What a pass writes that is its own.
    std::vector<arena::Access> memory() const;
    /// After gradients that have failed.
    void stop();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
