#include "train/models/layers/layers.hpp"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "train/mapped.hpp"
#include "train/models/layers/norm_relu.hpp"
#include "train/models/layers/products.hpp"

namespace dbench::train {
namespace {

using arena::TensorKind;

constexpr double kEps = 1e-5;

std::string member(const std::string& module, const char* tensor) {
    return module.empty() ? tensor : module + "." + tensor;
}

/// The distribution of torch.nn's kaiming_uniform(a = sqrt(5)), for weights and biases.
Initial kaiming_uniform(int64_t fan_in) {
    return uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

/// Returns where the gradient of parameter w may be written; undefined if there is no such place.
torch::Tensor gradient_of(const Weights& weights, int w) {
    return weights.gradients.empty() ? torch::Tensor() : weights.gradients[w];
}

/// All replicas' tensors, which vmap batches, as one tensor for layers that treat channels
/// separately: replicas become groups of channels. LibTorch's own vmap would scale and shift in
/// separate passes. Channels are last on the host, where that is faster.
class GroupedReplicas {
public:
    /// Maps (R, B, C, H, W), with R at any dimension, to (B, R C, H, W).
    explicit GroupedReplicas(const torch::Tensor& x) {
        const auto* const batched = at::functorch::maybeGetBatchedImpl(x);
        level_ = batched->level();
        replicas_ = batched->value().size(batched->bdim());
        images_ = batched->value().movedim(batched->bdim(), 1).flatten(1, 2);
        if (images_.device().is_cpu()) images_ = images_.contiguous(at::MemoryFormat::ChannelsLast);
    }
    const torch::Tensor& images() const { return images_; }
    int64_t replicas() const { return replicas_; }
    /// Maps (R, n, ...), with R first, to (R n, ...).
    static torch::Tensor weights(const torch::Tensor& each) {
        const auto* const batched = at::functorch::maybeGetBatchedImpl(each);
        return batched->value().movedim(batched->bdim(), 0).flatten(0, 1);
    }
    torch::Tensor back(const torch::Tensor& images) const {
        return at::functorch::makeBatched(images.unflatten(1, {replicas_, -1}), 1, level_);
    }

private:
    int64_t level_, replicas_;
    torch::Tensor images_;
};

/// True if vmap batches both: the layer runs for all replicas together.
bool all_replicas(const torch::Tensor& weight, const torch::Tensor& x) {
    return at::functorch::isBatchedTensor(weight) && at::functorch::isBatchedTensor(x);
}

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
    // This form gives the gradients the memory order of the weights.
    if (at::functorch::isBatchedTensor(weight)) {
        return torch::mm(weight, x.t()).t() + bias;
    }
    return linear_product(x, weight, bias, gradient_of(weights, weight_));
}

Conv2d::Conv2d(Declaration& d, const std::string& name, const Options& o)
    : kernel_(o.kernel),
      stride_(o.stride),
      padding_(o.padded ? o.kernel / 2 : 0),
      groups_(o.groups) {
    const int64_t area = o.kernel * o.kernel, in = o.in / o.groups;
    const Initial initial = o.init == Init::module
                                ? kaiming_uniform(in * area)
                                : normal(std::sqrt(2.0 / static_cast<double>(o.out * area)));
    weight_ = d.parameter(
        {member(name, "weight"), {o.out, in, o.kernel, o.kernel}, TensorKind::weight, initial});
}

torch::Tensor Conv2d::operator()(const Weights& weights, const torch::Tensor& x) const {
    return convolved(weights, x, std::nullopt);
}

torch::Tensor Conv2d::with_bias(const Weights& weights, const torch::Tensor& x,
                                const torch::Tensor& bias) const {
    return convolved(weights, x, bias);
}

torch::Tensor Conv2d::convolved(const Weights& weights, const torch::Tensor& x,
                                const std::optional<torch::Tensor>& bias) const {
    const torch::Tensor& weight = weights.parameters[weight_];
    DBENCH_EXPECT(weight.size(2) == kernel_ && weight.size(3) == kernel_);
    const Convolution2d shape{
        .stride = {stride_, stride_}, .padding = {padding_, padding_}, .groups = groups_};
    if (!bias && is_product(x, weight, shape)) {
        return convolution_product(x, weight, std::nullopt, shape, gradient_of(weights, weight_));
    }
    if (all_replicas(weight, x)) {
        const GroupedReplicas all(x);
        std::optional<torch::Tensor> of_all;
        if (bias) of_all = GroupedReplicas::weights(*bias);
        return all.back(torch::conv2d(all.images(), GroupedReplicas::weights(weight), of_all,
                                      stride_, padding_, 1, groups_ * all.replicas()));
    }
    return torch::conv2d(x, weight, bias, stride_, padding_, 1, groups_);
}

BiasedConv2d::BiasedConv2d(Declaration& d, const std::string& name, const Conv2d::Options& options,
                           const Initial& bias)
    : conv_(d, name, options),
      bias_(d.parameter({member(name, "bias"), {options.out}, TensorKind::bias, bias})) {}

torch::Tensor BiasedConv2d::operator()(const Weights& weights, const torch::Tensor& x) const {
    const torch::Tensor& bias = weights.parameters[bias_];
    // Under autocast a sum with a float32 bias would be float32, and so would the next layers be.
    if (at::autocast::is_autocast_enabled(x.device().type())) {
        return conv_.with_bias(weights, x, bias);
    }
    return conv_(weights, x) + bias.view({1, -1, 1, 1});
}

GroupNorm::GroupNorm(Declaration& d, const std::string& name, int64_t groups, int64_t channels)
    : groups_(groups),
      weight_(d.parameter({member(name, "weight"), {channels}, TensorKind::norm, constant(1)})),
      bias_(d.parameter({member(name, "bias"), {channels}, TensorKind::norm, constant(0)})) {
    DBENCH_EXPECT(channels % groups == 0);
    d.stacks = false;  // vmap does not run GroupNorm in C++.
}

torch::Tensor GroupNorm::operator()(const Weights& weights, const torch::Tensor& x) const {
    return torch::group_norm(x, groups_, weights.parameters[weight_], weights.parameters[bias_],
                             1e-5);
}

BatchNorm2d::BatchNorm2d(Declaration& d, const std::string& name, int64_t channels, double scale)
    : weight_(d.parameter({member(name, "weight"), {channels}, TensorKind::norm, constant(scale)})),
      bias_(d.parameter({member(name, "bias"), {channels}, TensorKind::norm, constant(0)})),
      mean_(d.buffer({member(name, "running_mean"), {channels}, 0, false, {}, kNormMomentum})),
      variance_(d.buffer({member(name, "running_var"), {channels}, 1, true, {}, kNormMomentum})) {}

namespace {

void note_normalised(const Weights& weights, const torch::Tensor& x) {
    if (!weights.least_normalised) return;
    int64_t& least = *weights.least_normalised;
    least = std::min(least, x.numel() / x.size(1));
}

}  // namespace

torch::Tensor BatchNorm2d::operator()(const Weights& weights, const torch::Tensor& x,
                                      bool training) const {
    note_normalised(weights, x);
    if (all_replicas(weights.parameters[weight_], x)) {
        const GroupedReplicas all(x);
        return all.back(torch::batch_norm(
            all.images(), GroupedReplicas::weights(weights.parameters[weight_]),
            GroupedReplicas::weights(weights.parameters[bias_]),
            GroupedReplicas::weights(weights.buffers[mean_]),
            GroupedReplicas::weights(weights.buffers[variance_]), training, kNormMomentum, kEps,
            /*cudnn_enabled=*/true));
    }
    return torch::batch_norm(x, weights.parameters[weight_], weights.parameters[bias_],
                             weights.buffers[mean_], weights.buffers[variance_], training,
                             kNormMomentum, kEps, /*cudnn_enabled=*/true);
}

torch::Tensor BatchNorm2d::relu(const Weights& weights, const torch::Tensor& x, bool training,
                                const torch::Tensor& added) const {
    const torch::Tensor& weight = weights.parameters[weight_];
    const torch::Tensor& bias = weights.parameters[bias_];
    const torch::Tensor& mean = weights.buffers[mean_];
    const torch::Tensor& variance = weights.buffers[variance_];
    if (training && accepts_norm_relu(x, weights.queue)) {
        note_normalised(weights, x);
        return norm_relu(x, {weight, bias, mean, variance}, added, kNormMomentum, kEps,
                         weights.queue);
    }
    if (training && all_replicas(weight, x)) {
        const GroupedReplicas all(x);
        if (accepts_norm_relu(all.images(), weights.queue)) {
            const torch::Tensor more = added.defined() ? GroupedReplicas(added).images() : added;
            const torch::Tensor of_all = GroupedReplicas::weights(weight),
                                shift = GroupedReplicas::weights(bias);
            const auto of_images = [&] {
                const OutsideOfVmap outside;
                return norm_relu(all.images(),
                                 {of_all, shift, GroupedReplicas::weights(mean),
                                  GroupedReplicas::weights(variance)},
                                 more, kNormMomentum, kEps, weights.queue);
            };
            return all.back(of_images());
        }
    }
    const torch::Tensor y = (*this)(weights, x, training);
    if (!added.defined()) return relu_of(y);
    return relu_of(at::functorch::isBatchedTensor(y) ? y + added : y.add_(added));
}

// vmap's tensors are views, and backward of an in-place change of a view copies all of it three
// times.
torch::Tensor relu_of(torch::Tensor x) {
    return at::functorch::isBatchedTensor(x) ? torch::relu(x) : x.relu_();
}

torch::Tensor global_average(const torch::Tensor& x) { return x.mean({2, 3}); }

}  // namespace dbench::train
