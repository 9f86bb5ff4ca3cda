#pragma once
// Outputs of a model for a minibatch and their Jacobian by its parameters, as linearised training
// wants them (algorithms/linearisation.hpp).

#include <torch/torch.h>

#include "algorithms/linearisation.hpp"
#include "data/loader.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Writes labels (one-hot) or targets, outputs and Jacobians of the batch's samples to `out`, in
/// the host's memory; the weights, which are leaves, lie at `place`.
void linearise(const Model& model, Weights around, const data::Batch& batch, torch::Device place,
               const algorithms::Linearised& out);

}  // namespace dbench::train
