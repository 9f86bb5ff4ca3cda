#pragma once
// Batch normalisation, an optional sum and ReLU as one autograd operation. It replaces the three
// passes over memory that follow every convolution of a ResNet by one, and the six of backward by
// two.

#include "arena/device/queue.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// The tensors of a BatchNorm, one value per channel: (C).
struct NormTensors {
    const torch::Tensor& weight;
    const torch::Tensor& bias;
    torch::Tensor running_mean;
    torch::Tensor running_variance;
};

/// True if norm_relu accepts x: float32 or float64, (B, C, H, W) with channels last, and not a
/// tensor of vmap. Off the host it also requires a queue that is not immediate, and a multiple of
/// 16 bytes per pixel.
bool accepts_norm_relu(const torch::Tensor& x, arena::Queue& queue);

/// Returns max(0, weight (x - mean) / sqrt(variance + eps) + bias + added) with the mean and biased
/// variance of x over (B, H, W). Moves the running statistics towards them by `momentum`, with the
/// variance made unbiased. `added` has the shape of x, or is undefined: then nothing is added. On
/// an immediate queue this file computes them; otherwise forward and backward run kernels of the
/// arena on the queue, which must outlive backward.
torch::Tensor norm_relu(const torch::Tensor& x, const NormTensors& norm, const torch::Tensor& added,
                        double momentum, double eps, arena::Queue& queue);

}  // namespace dbench::train
