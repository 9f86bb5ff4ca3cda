#pragma once
// Losses and accuracies of a pass on a device, as numbers that the host reads later.

#include <torch/torch.h>

#include "arena/device/queue.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Where losses and accuracies go: one of each, or one for each replica.
struct Sums {
    double* loss;
    double* accuracy;
};

/// Of outputs [terms, classes] or [replicas, terms, classes] of a minibatch, or of replicas' one
/// after another, and its loss or their losses: `share` of the loss, and the labels found over
/// `terms`, each added to what stands there where `adds`. Launched on `queue`, where the outputs
/// are computed; null: at once. Waits for no card.
void tell_scores(const Model& model, const torch::Tensor& output, const torch::Tensor& losses,
                 const data::Batch& batch, double share, double terms, bool adds, const Sums& sums,
                 arena::Queue* queue);

}  // namespace dbench::train
