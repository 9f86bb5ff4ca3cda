#pragma once
// Mixed precision: a model whose products are computed in bfloat16.

#include <memory>

#include "train/models/model.hpp"

namespace dbench::train {

/// `model` under LibTorch's autocast, forward and therefore backward: convolutions, products of
/// matrices and attention read and write bfloat16, with the float32 weights rounded for each pass;
/// what needs the digits stays in float32, as PyTorch's lists say for the input's device. Weights,
/// their gradients and buffers are float32, and so are outputs, of which losses are taken.
std::unique_ptr<Model> autocast(std::unique_ptr<Model> model);

}  // namespace dbench::train
