#pragma once
// Layers as values. A layer declares its tensors and stores their indices only, so that one model
// serves all replicas and its forward reads like that of a torch module. Names, order and initial
// distributions of the tensors are those of torch.nn.

#include <optional>
#include <string>

#include "train/models/layers/initial.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// y = x W^T + b; x (B, in), W (out, in).
class Linear {
public:
    /// Initial distributions that replace those of torch.nn.Linear.
    struct Initials {
        Initial weight, bias;
    };
    /// `name` is the module's name: "fc" declares fc.weight and fc.bias; "" declares weight and
    /// bias.
    Linear(Declaration& declaration, const std::string& name, int64_t in, int64_t out);
    Linear(Declaration& declaration, const std::string& name, int64_t in, int64_t out,
           const Initials& initials);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    int weight_, bias_;
};

/// Convolution with padding kernel / 2 (rounded down), or without padding, and no bias (a BatchNorm
/// precedes or follows it); x (B, in, H, W). The output has the memory order of x, whatever the
/// order of the weight. On a CPU, if channels are last and there are more of them than pixels in a
/// minibatch, it is computed as a matrix product, which reads the weight and writes its gradient in
/// place.
class Conv2d {
public:
    /// Initial distribution of the weight: torch.nn.Conv2d's kaiming_uniform(a = sqrt(5)), or
    /// kaiming_normal(fan_out, relu) (He et al. 2015) as in torchvision's ResNets.
    enum class Init { module, fan_out };
    struct Options {
        int64_t in, out;
        int64_t kernel = 3, stride = 1, groups = 1;  ///< groups divides in and out.
        Init init = Init::module;
        bool padded = true;
    };
    Conv2d(Declaration& declaration, const std::string& name, const Options& options);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;
    /// Adds a bias (out) to each pixel, before the result is rounded to the type of the output.
    torch::Tensor with_bias(const Weights& weights, const torch::Tensor& x,
                            const torch::Tensor& bias) const;

private:
    torch::Tensor convolved(const Weights& weights, const torch::Tensor& x,
                            const std::optional<torch::Tensor>& bias) const;

    int weight_;
    int64_t kernel_, stride_, padding_, groups_;
};

/// A convolution with a bias, as torch.nn.Conv2d: its weight and its bias, in this order. Under
/// autocast its bits are those of torch.nn.Conv2d. Otherwise the bias is added to the convolution's
/// result.
class BiasedConv2d {
public:
    /// `bias`: the bias' initial distribution.
    BiasedConv2d(Declaration& declaration, const std::string& name, const Conv2d::Options& options,
                 const Initial& bias);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    Conv2d conv_;
    int bias_;
};

/// Normalisation over groups of channels of each sample, eps 1e-5.
class GroupNorm {
public:
    /// `groups` divides `channels`.
    GroupNorm(Declaration& declaration, const std::string& name, int64_t groups, int64_t channels);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    int64_t groups_;
    int weight_, bias_;
};

/// Fraction by which one batch moves the running statistics to its own.
constexpr double kNormMomentum = 0.1;

/// Batch normalisation over (B, H, W); momentum kNormMomentum, eps 1e-5. In training it updates the
/// running mean and (unbiased) variance in the replica's buffers.
class BatchNorm2d {
public:
    /// `scale` is the weight's initial value.
    BatchNorm2d(Declaration& declaration, const std::string& name, int64_t channels,
                double scale = 1);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x, bool training) const;
    /// Returns relu(the above + added), with fewer passes over memory if norm_relu accepts x.
    /// `added` has the shape of x, or is undefined.
    torch::Tensor relu(const Weights& weights, const torch::Tensor& x, bool training,
                       const torch::Tensor& added = {}) const;

private:
    int weight_, bias_, mean_, variance_;
};

/// Returns max(0, x). May overwrite x, which the caller must not use again.
torch::Tensor relu_of(torch::Tensor x);

/// Returns the mean over height and width: (B, C, H, W) to (B, C).
torch::Tensor global_average(const torch::Tensor& x);

}  // namespace dbench::train
