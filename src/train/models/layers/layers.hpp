#pragma once
// Layers as values: they declare their tensors and know them by index, so that one model serves all
// replicas and its forward reads like that of a module. Names, order and initial distributions are
// those of torch.nn.

#include <string>

#include "train/models/layers/initial.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// y = x W^T + b; x (B, in), W (out, in).
class Linear {
public:
    /// Other distributions than torch.nn.Linear's.
    struct Initials {
        Initial weight, bias;
    };
    /// `name` is the module's: "fc" declares fc.weight and fc.bias; "" declares weight and bias.
    Linear(Declaration& declaration, const std::string& name, int64_t in, int64_t out);
    Linear(Declaration& declaration, const std::string& name, int64_t in, int64_t out,
           const Initials& initials);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    int weight_, bias_;
};

/// Convolution with padding kernel / 2 (rounded down) and no bias (a BatchNorm stands before or
/// after it); x (B, in, H, W). The output takes the memory order of x, whatever that of the weight.
/// On a CPU, where channels are last and there are more of them than pixels in a minibatch, it is a
/// product of matrices, which reads the weight and writes its gradient where they lie.
class Conv2d {
public:
    /// What the weight is drawn from: torch.nn.Conv2d's kaiming_uniform(a = sqrt(5)), or He et al.
    /// 2015 as torchvision's ResNets have it, kaiming_normal(fan_out, relu).
    enum class Init { module, fan_out };
    struct Options {
        int64_t in, out;
        int64_t kernel = 3, stride = 1, groups = 1;  ///< groups divides in and out
        Init init = Init::module;
    };
    Conv2d(Declaration& declaration, const std::string& name, const Options& options);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    int64_t reached(int64_t size) const;  ///< height or width of the output, of the input's
    bool is_product(const Weights& weights, const torch::Tensor& x) const;
    torch::Tensor product(const Weights& weights, const torch::Tensor& x) const;

    int weight_;
    int64_t kernel_, stride_, padding_, groups_;
};

/// How far a batch moves the running statistics to its own.
constexpr double kNormMomentum = 0.1;

/// Batch normalisation over (B, H, W); momentum kNormMomentum, eps 1e-5. In training it updates the
/// running mean and (unbiased) variance in the replica's buffers.
class BatchNorm2d {
public:
    /// `scale`: the weight's initial value.
    BatchNorm2d(Declaration& declaration, const std::string& name, int64_t channels,
                double scale = 1);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x, bool training) const;
    /// relu(the above + added), in fewer passes over memory where norm_relu takes x; `added` has
    /// the shape of x, or is undefined.
    torch::Tensor relu(const Weights& weights, const torch::Tensor& x, bool training,
                       const torch::Tensor& added = {}) const;

private:
    int weight_, bias_, mean_, variance_;
};

/// max(0, x), in the place of x, which nobody else needs, where that is cheaper.
torch::Tensor relu_of(torch::Tensor x);

/// Mean over height and width: (B, C, H, W) to (B, C).
torch::Tensor global_average(const torch::Tensor& x);

}  // namespace dbench::train
