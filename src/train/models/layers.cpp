#include "train/models/layers.hpp"

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
std::function<void(torch::Tensor&)> uniform(int64_t fan_in) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    return [bound](torch::Tensor& t) { t.uniform_(-bound, bound); };
}

std::function<void(torch::Tensor&)> normal(double deviation) {
    return [deviation](torch::Tensor& t) { t.normal_(0, deviation); };
}

std::function<void(torch::Tensor&)> constant(double value) {
    return [value](torch::Tensor& t) { t.fill_(value); };
}

}  // namespace

Linear::Linear(Declaration& d, const std::string& name, int64_t in, int64_t out)
    : weight_(d.parameter({member(name, "weight"), {out, in}, TensorKind::weight, uniform(in)})),
      bias_(d.parameter({member(name, "bias"), {out}, TensorKind::bias, uniform(in)})) {}

torch::Tensor Linear::operator()(const Weights& weights, const torch::Tensor& x) const {
    return torch::linear(x, weights.parameters[weight_], weights.parameters[bias_]);
}

Conv3x3::Conv3x3(Declaration& d, const std::string& name, int64_t in, int64_t out, int64_t stride,
                 Init init)
    : weight_(d.parameter({member(name, "weight"),
                           {out, in, 3, 3},
                           TensorKind::weight,
                           init == Init::module
                               ? uniform(in * 9)
                               : normal(std::sqrt(2.0 / static_cast<double>(out * 9)))})),
      stride_(stride) {}

torch::Tensor Conv3x3::operator()(const Weights& weights, const torch::Tensor& x) const {
    return torch::conv2d(x, weights.parameters[weight_], {}, stride_, 1);
}

BatchNorm2d::BatchNorm2d(Declaration& d, const std::string& name, int64_t channels)
    : weight_(d.parameter({member(name, "weight"), {channels}, TensorKind::norm, constant(1)})),
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
