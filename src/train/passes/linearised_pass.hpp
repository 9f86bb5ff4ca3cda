#pragma once  // Private to train/passes.
// A model's outputs for a minibatch and their Jacobian with respect to the parameters, for
// algorithms that train linearised models (algorithms/linearisation.hpp).

#include "algorithms/linearisation.hpp"
#include "data/loader.hpp"
#include "train/models/model.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// Writes the labels (one-hot) or targets, the outputs and the Jacobians of the batch's samples to
/// `out`, in host memory. The weights must be leaf tensors; LibTorch computes at `torch_device`.
void linearise(const Model& model, Weights weights, const data::Batch& batch,
               torch::Device torch_device, const algorithms::Linearised& out);

/// Computes the same for all samples together: one backward pass per output, with a copy of the
/// parameters for each sample. This is faster on a GPU, where the passes of single samples would
/// launch many tiny kernels. Additions within a sample may have another order. LibTorch's vmap must
/// be able to run the model (Declaration::stacks), and the model must have no buffers.
void linearise_together(const Model& model, Weights weights, const data::Batch& batch,
                        torch::Device torch_device, const algorithms::Linearised& out);

}  // namespace dbench::train
