#include "train/models/layers/products.hpp"

#include <ATen/autocast_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>

#include <algorithm>

namespace dbench::train {
namespace {

/// y = x W^T + b. Backward writes the gradient of W directly to its destination. The products are
/// those of PyTorch in PyTorch's order: the bits are the same, with one pass over the gradient
/// less.
class DirectGradientLinear : public torch::autograd::Function<DirectGradientLinear> {
public:
    static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                                 const torch::Tensor& weight,
                                 const std::optional<torch::Tensor>& bias,
                                 const torch::Tensor& gradient) {
        context->save_for_backward({x, weight});
        context->saved_data["gradient"] = gradient;
        context->saved_data["bias"] = bias.has_value();
        return torch::linear(x, weight, bias.value_or(torch::Tensor()));
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list outputs) {
        const auto saved = context->get_saved_variables();
        const torch::Tensor& x = saved[0];
        const torch::Tensor& dy = outputs[0];
        // Another handle of the same memory: autograd stores a gradient without a copy only if
        // nothing else holds its handle.
        torch::Tensor dw = context->saved_data["gradient"].toTensor().alias();
        torch::mm_out(dw, dy.t(), x);
        const torch::Tensor dx = context->needs_input_grad(0) ? dy.mm(saved[1]) : torch::Tensor();
        const bool bias = context->saved_data["bias"].toBool();
        return {dx, dw, bias ? dy.sum(0) : torch::Tensor(), {}};
    }
};

/// Returns the output's height (0) or width (1).
int64_t reached(const torch::Tensor& x, const torch::Tensor& weight, const Convolution2d& shape,
                size_t side) {
    const auto dimension = static_cast<int64_t>(side) + 2;
    const int64_t covered = shape.dilation[side] * (weight.size(dimension) - 1) + 1;
    return (x.size(dimension) + 2 * shape.padding[side] - covered) / shape.stride[side] + 1;
}

bool single_pixel(const torch::Tensor& weight, const Convolution2d& shape) {
    return weight.size(2) == 1 && weight.size(3) == 1 && shape.padding[0] == 0 &&
           shape.padding[1] == 0;
}

}  // namespace

torch::Tensor linear_product(const torch::Tensor& x, const torch::Tensor& weight,
                             const std::optional<torch::Tensor>& bias,
                             const torch::Tensor& gradient) {
    if (!gradient.defined() || !torch::GradMode::is_enabled()) {
        return torch::linear(x, weight, bias.value_or(torch::Tensor()));
    }
    return DirectGradientLinear::apply(x, weight, bias, gradient.view(weight.sizes()));
}

// LibTorch's convolution on a CPU copies the weight into an order of its own, once in forward and
// twice in backward, and the gradient back. If there are more weights than pixels, that takes much
// of the time. With a kernel larger than 1x1, the product must also copy the pixels, so it is only
// used for half as many of them.
bool is_product(const torch::Tensor& x, const torch::Tensor& weight, const Convolution2d& shape) {
    if (at::functorch::isBatchedTensor(weight) || at::functorch::isBatchedTensor(x) ||
        !x.device().is_cpu() || shape.groups != 1 || x.dim() != 4 || weight.dim() != 4 ||
        !x.is_contiguous(at::MemoryFormat::ChannelsLast) ||
        at::autocast::is_autocast_enabled(at::kCPU)) {
        return false;
    }
    const int64_t height = reached(x, weight, shape, 0), width = reached(x, weight, shape, 1);
    if (height <= 0 || width <= 0) return false;
    const int64_t pixels = x.size(0) * height * width;
    return single_pixel(weight, shape) ? pixels <= std::min(weight.size(0), weight.size(1))
                                       : 2 * pixels <= weight.size(0);
}

torch::Tensor convolution_product(const torch::Tensor& x, const torch::Tensor& weight,
                                  const std::optional<torch::Tensor>& bias,
                                  const Convolution2d& shape, const torch::Tensor& gradient) {
    // (B H' W', in h w): the inputs that the kernel covers at each pixel.
    torch::Tensor covered;
    if (single_pixel(weight, shape)) {
        covered = x.permute({0, 2, 3, 1})
                      .slice(1, 0, std::nullopt, shape.stride[0])
                      .slice(2, 0, std::nullopt, shape.stride[1])
                      .flatten(0, 2);
    } else {
        covered = at::im2col(x, {weight.size(2), weight.size(3)}, shape.dilation, shape.padding,
                             shape.stride)
                      .transpose(1, 2)
                      .flatten(0, 1);
    }
    return linear_product(covered, weight.flatten(1), bias, gradient)
        .unflatten(0, {x.size(0), reached(x, weight, shape, 0), reached(x, weight, shape, 1)})
        .permute({0, 3, 1, 2});
}

}  // namespace dbench::train
