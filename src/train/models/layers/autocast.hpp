#pragma once
// Mixed precision: wraps a model so that its matrix products are computed in bfloat16.

#include <memory>

#include "train/models/model.hpp"

namespace dbench::train {

/// Returns `model` under LibTorch's autocast, forward and therefore backward. Convolutions, matrix
/// products and attention read and write bfloat16; the float32 weights are rounded in each pass.
/// Operations that need more digits stay in float32, according to PyTorch's lists for the input's
/// device. Weights, their gradients, buffers and outputs (and so losses) are float32.
std::unique_ptr<Model> autocast(std::unique_ptr<Model> model);

}  // namespace dbench::train
