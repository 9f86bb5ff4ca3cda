#include "train/models/layers.hpp"

#include <ATen/functorch/BatchedTensorImpl.h>

#include <cmath>

#include "train/models/norm_relu.hpp"

namespace dbench::train {
namespace {

using arena::TensorKind;

constexpr double kEps = 1e-5;

std::string member(const std::string& module, const char* tensor) {
    return module.empty() ? tensor : module + "." + tensor;
}

/// What kaiming_uniform(a = sqrt(5)) of torch.nn comes to, for weights and biases alike.
Initial kaiming_uniform(int64_t fan_in) {
    return uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

/// y = x W^T + b, whose backward writes the gradient of W where it is wanted. PyTorch's products in
/// PyTorch's order: same bits, a pass over the gradient less.
class WrittenLinear : public torch::autograd::Function<WrittenLinear> {
public:
    static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                                 const torch::Tensor& weight, const torch::Tensor& bias,
                                 const torch::Tensor& gradient) {
        context->save_for_backward({x, weight});
        context->saved_data["gradient"] = gradient;
        return torch::linear(x, weight, bias);
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list outputs) {
        const auto saved = context->get_saved_variables();
        const torch::Tensor& x = saved[0];
        const torch::Tensor& dy = outputs[0];
        // Another handle of the same memory: autograd keeps what nobody else holds as it is.
        torch::Tensor dw = context->saved_data["gradient"].toTensor().alias();
        torch::mm_out(dw, dy.t(), x);
        const torch::Tensor dx = context->needs_input_grad(0) ? dy.mm(saved[1]) : torch::Tensor();
        return {dx, dw, dy.sum(0), {}};
    }
};

}  // namespace

Linear::Linear(Declaration& d, const std::string& name, int64_t in, int64_t out)
    : Linear(d, name, in, out, {kaiming_uniform(in), kaiming_uniform(in)}) {}

Linear::Linear(Declaration& d, const std::string& name, int64_t in, int64_t out,
               const Initials& initials)
    : weight_(
          d.parameter({member(name, "weight"), {out, in}, TensorKind::weight, initials.weight})),
      bias_(d.parameter({member(name, "bias"), {out}, TensorKind::bias, initials.bias})) {}

torch::Tensor Linear::operator()(const Weights& weights, const torch::Tensor& x) const {
    const torch::Tensor& weight = weights.parameters[weight_];
    const torch::Tensor& bias = weights.parameters[bias_];
    if (at::functorch::isBatchedTensor(weight)) {  // so that its gradients lie as the weights do
        return torch::mm(weight, x.t()).t() + bias;
    }
    if (weights.gradients.empty() || !torch::GradMode::is_enabled()) {
        return torch::linear(x, weight, bias);
    }
    return WrittenLinear::apply(x, weight, bias, weights.gradients[weight_]);
}

Conv2d::Conv2d(Declaration& d, const std::string& name, const Options& o)
    : stride_(o.stride), padding_(o.kernel / 2), groups_(o.groups) {
    const int64_t area = o.kernel * o.kernel, in = o.in / o.groups;
    const Initial initial = o.init == Init::module
                                ? kaiming_uniform(in * area)
                                : normal(std::sqrt(2.0 / static_cast<double>(o.out * area)));
    weight_ = d.parameter(
        {member(name, "weight"), {o.out, in, o.kernel, o.kernel}, TensorKind::weight, initial});
}

torch::Tensor Conv2d::operator()(const Weights& weights, const torch::Tensor& x) const {
    return torch::conv2d(x, weights.parameters[weight_], {}, stride_, padding_, 1, groups_);
}

BatchNorm2d::BatchNorm2d(Declaration& d, const std::string& name, int64_t channels, double scale)
    : weight_(d.parameter({member(name, "weight"), {channels}, TensorKind::norm, constant(scale)})),
      bias_(d.parameter({member(name, "bias"), {channels}, TensorKind::norm, constant(0)})),
      mean_(d.buffer({member(name, "running_mean"), {channels}, 0, false})),
      variance_(d.buffer({member(name, "running_var"), {channels}, 1, true})) {}

torch::Tensor BatchNorm2d::operator()(const Weights& weights, const torch::Tensor& x,
                                      bool training) const {
    return torch::batch_norm(x, weights.parameters[weight_], weights.parameters[bias_],
                             weights.buffers[mean_], weights.buffers[variance_], training,
                             kNormMomentum, kEps, /*cudnn_enabled=*/true);
}

torch::Tensor BatchNorm2d::relu(const Weights& weights, const torch::Tensor& x, bool training,
                                const torch::Tensor& added) const {
    if (training && takes_norm_relu(x)) {
        return norm_relu(x,
                         {weights.parameters[weight_], weights.parameters[bias_],
                          weights.buffers[mean_], weights.buffers[variance_]},
                         added, kNormMomentum, kEps);
    }
    torch::Tensor y = (*this)(weights, x, training);
    if (added.defined()) y.add_(added);
    return y.relu_();
}

torch::Tensor global_average(const torch::Tensor& x) { return x.mean({2, 3}); }

}  // namespace dbench::train
