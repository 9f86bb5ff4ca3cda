#pragma once  // Private to train/passes.
// Losses and accuracies of a pass, computed on the device; the host reads them later.

#include "arena/device/queue.hpp"
#include "train/models/model.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// The memory for losses and accuracies: one number each, or one number for each replica.
struct ScoreMemory {
    double* loss;
    double* accuracy;
};

/// Writes the scores of one pass. `output` is [terms, classes] of a minibatch, or [replicas, terms,
/// classes] or the replicas' outputs one after another; `losses` is the loss of the minibatch, or
/// one loss for each replica. Writes `share` times the loss, and the number of correct labels
/// divided by `terms`; adds both to the memory's values if `adds`. Launches on `queue`, on which
/// the outputs are computed (see arena::host_queue). The host does not wait.
void write_scores(const Model& model, const torch::Tensor& output, const torch::Tensor& losses,
                  const data::Batch& batch, double share, double terms, bool adds,
                  const ScoreMemory& sums, arena::Queue& queue);

}  // namespace dbench::train
