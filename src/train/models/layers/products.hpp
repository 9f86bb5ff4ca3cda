#pragma once
// Layers as products of matrices on the host, which write the gradient of a weight directly to its
// destination.

#include <array>
#include <optional>

#include "train/torch.hpp"

namespace dbench::train {

/// Returns x W^T + b; x (B, in), W (out, in). Backward writes the gradient of W to `gradient`,
/// which has as many elements in the same order, if nothing else uses W. If it is undefined,
/// autograd stores the gradient as usual.
torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const std::optional<torch::Tensor>& bias,
                             const torch::Tensor& gradient);

/// How the kernel of a convolution moves over images: (height, width).
struct Convolution2d {
    std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
    int64_t groups = 1;
};

/// True if convolution_product is faster than LibTorch's convolution of x by `weight` (out, in, h,
/// w), and accepts both: few pixels on the host, with channels last.
bool is_product(const torch::Tensor& x, const torch::Tensor& weight, const Convolution2d& shape);

/// Returns the convolution of x (B, in, H, W) as a product of matrices. `gradient`: see
/// linear_product. Precondition: is_product.
torch::Tensor convolution_product(const torch::Tensor& x, const torch::Tensor& weight,
                                  const std::optional<torch::Tensor>& bias,
                                  const Convolution2d& shape, const torch::Tensor& gradient);

}  // namespace dbench::train
