#pragma once
// Batch normalisation, an optional sum and ReLU as one operation of autograd: the three passes over
// memory that follow every convolution of a ResNet become one, and six of the backward two.

#include <torch/torch.h>

#include "arena/device/queue.hpp"

namespace dbench::train {

/// What a BatchNorm is made of, per channel: (C).
struct NormTensors {
    const torch::Tensor& weight;
    const torch::Tensor& bias;
    torch::Tensor running_mean;
    torch::Tensor running_variance;
};

/// Whether norm_relu takes x: float32 or float64, (B, C, H, W) with channels last, no tensor of
/// vmap. On a card there is a queue to launch on, and channels fill places of 16 bytes.
bool takes_norm_relu(const torch::Tensor& x, arena::Queue* queue = nullptr);

/// max(0, weight (x - mean) / sqrt(variance + eps) + bias + added) with mean and biased variance of
/// x over (B, H, W); the running ones move by `momentum` to them, the variance made unbiased.
/// `added` has the shape of x, or is undefined: nothing is added. Kernels of the arena, forward and
/// backward, where there is a queue; it outlives backward.
torch::Tensor norm_relu(const torch::Tensor& x, const NormTensors& norm, const torch::Tensor& added,
                        double momentum, double eps, arena::Queue* queue = nullptr);

}  // namespace dbench::train
