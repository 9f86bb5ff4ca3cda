#include "train/models/norm_relu.hpp"

#include <ATen/functorch/BatchedTensorImpl.h>

#include <cmath>
#include <optional>
#include <vector>

#include "train/models/norm_relu_kernels.hpp"

namespace dbench::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

template <class T>
Pixels<T> pixels(const torch::Tensor& x) {
    return {x.size(0) * x.size(2) * x.size(3), x.size(1), x.const_data_ptr<T>()};
}

template <class T>
const T* data_or_null(const torch::Tensor& x) {
    return x.defined() ? x.const_data_ptr<T>() : nullptr;
}

/// mean and 1 / sqrt(variance + eps) of the batch: float64, (2, C). Moves the running statistics.
template <class T>
torch::Tensor statistics(Pixels<T> in, const NormTensors& norm, double momentum, double eps) {
    torch::Tensor both = torch::empty({2, in.channels}, torch::kFloat64);
    double* mean = both.mutable_data_ptr<double>();
    double* inverse = mean + in.channels;
    moments(in, mean, inverse);
    T* running_mean = norm.running_mean.mutable_data_ptr<T>();
    T* running_variance = norm.running_variance.mutable_data_ptr<T>();
    const double count = static_cast<double>(in.pixels);
    for (int64_t c = 0; c < in.channels; ++c) {
        const double variance = inverse[c];
        const double unbiased = variance * count / (count - 1);
        running_mean[c] = T((1 - momentum) * running_mean[c] + momentum * mean[c]);
        running_variance[c] = T((1 - momentum) * running_variance[c] + momentum * unbiased);
        inverse[c] = 1 / std::sqrt(variance + eps);
    }
    return both;
}

template <class T>
torch::Tensor output(Pixels<T> in, const torch::Tensor& x, const NormTensors& norm,
                     const torch::Tensor& added, const torch::Tensor& both) {
    const double* mean = both.const_data_ptr<double>();
    const double* inverse = mean + in.channels;
    const T* weight = norm.weight.const_data_ptr<T>();
    const T* bias = norm.bias.const_data_ptr<T>();
    std::vector<T> scale(static_cast<size_t>(in.channels)), shift(scale.size());
    for (size_t c = 0; c < scale.size(); ++c) {
        const double slope = static_cast<double>(weight[c]) * inverse[c];
        scale[c] = T(slope);
        shift[c] = T(static_cast<double>(bias[c]) - mean[c] * slope);
    }
    torch::Tensor y = torch::empty_like(x, kChannelsLast);
    scale_relu(in, scale.data(), shift.data(), data_or_null<T>(added), y.mutable_data_ptr<T>());
    return y;
}

struct Gradients {
    torch::Tensor x, weight, bias, added;
};

template <class T>
Gradients gradients(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& weight,
                    const torch::Tensor& both, const torch::Tensor& gradient, bool want_added) {
    const Pixels<T> in = pixels<T>(x);
    const auto channels = static_cast<size_t>(in.channels);
    const double* mean = both.const_data_ptr<double>();
    const double* inverse = mean + channels;
    const T* y_data = y.const_data_ptr<T>();
    const T* gradient_data = gradient.const_data_ptr<T>();
    Gradients out{torch::empty_like(x, kChannelsLast), torch::empty_like(weight),
                  torch::empty_like(weight),
                  want_added ? torch::empty_like(x, kChannelsLast) : torch::Tensor()};

    std::vector<T> centre(mean, mean + channels), slope(channels), curve(channels), level(channels);
    std::vector<double> sum(channels), product(channels);
    gradient_sums(in, y_data, gradient_data, centre.data(),
                  want_added ? out.added.mutable_data_ptr<T>() : nullptr, sum.data(),
                  product.data());

    // dx = w s (g - mean(g) - xhat mean(g xhat)) with s = 1 / sqrt(variance + eps), xhat = s (x -
    // mean).
    const T* w = weight.const_data_ptr<T>();
    for (size_t c = 0; c < channels; ++c) {
        const double s = inverse[c];
        const double ws = static_cast<double>(w[c]) * s;
        const double count = static_cast<double>(in.pixels);
        out.weight.mutable_data_ptr<T>()[c] = T(product[c] * s);
        out.bias.mutable_data_ptr<T>()[c] = T(sum[c]);
        slope[c] = T(ws);
        curve[c] = T(-ws * s * s * product[c] / count);
        level[c] = T(-ws * sum[c] / count);
    }
    input_gradient(in, y_data, gradient_data, centre.data(), slope.data(), curve.data(),
                   level.data(), out.x.mutable_data_ptr<T>());
    return out;
}

class NormRelu : public torch::autograd::Function<NormRelu> {
public:
    static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                                 const torch::Tensor& weight, const torch::Tensor& bias,
                                 const torch::Tensor& running_mean,
                                 const torch::Tensor& running_variance,
                                 const std::optional<torch::Tensor>& added, double momentum,
                                 double eps) {
        const NormTensors norm{weight, bias, running_mean, running_variance};
        const torch::Tensor sum = added ? added->contiguous(kChannelsLast) : torch::Tensor();
        torch::Tensor both, y;
        AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu", [&] {
            const auto in = pixels<scalar_t>(x);
            both = statistics(in, norm, momentum, eps);
            y = output(in, x, norm, sum, both);
        });
        context->save_for_backward({x, y, weight, both});
        context->saved_data["added"] = added.has_value();
        return y;
    }

    static variable_list backward(AutogradContext* context, variable_list outputs) {
        const auto saved = context->get_saved_variables();
        const torch::Tensor gradient = outputs[0].contiguous(kChannelsLast);
        Gradients all;
        AT_DISPATCH_FLOATING_TYPES(saved[0].scalar_type(), "norm_relu_backward", [&] {
            all = gradients<scalar_t>(saved[0], saved[1], saved[2], saved[3], gradient,
                                      context->saved_data["added"].toBool());
        });
        return {all.x, all.weight, all.bias, {}, {}, all.added, {}, {}};
    }
};

}  // namespace

bool takes_norm_relu(const torch::Tensor& x) {
    return !at::functorch::isBatchedTensor(x) && x.device().is_cpu() && x.dim() == 4 &&
           x.is_contiguous(kChannelsLast) &&
           (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kFloat64);
}

torch::Tensor norm_relu(const torch::Tensor& x, const NormTensors& norm, const torch::Tensor& added,
                        double momentum, double eps) {
    return NormRelu::apply(x, norm.weight, norm.bias, norm.running_mean, norm.running_variance,
                           added.defined() ? std::optional(added) : std::nullopt, momentum, eps);
}

}  // namespace dbench::train
