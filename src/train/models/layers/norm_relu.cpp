#include "train/models/layers/norm_relu.hpp"

#include <ATen/functorch/BatchedTensorImpl.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "arena/passes/norm_relu.hpp"
#include "train/models/layers/norm_relu_kernels.hpp"

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

/// Returns the batch's mean and 1 / sqrt(variance + eps): float64, (2, C). Updates the running
/// statistics.
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
        const double unbiased = variance * count / std::max(count - 1, 1.0);
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

arena::Images images(const torch::Tensor& x) {
    const bool single = x.scalar_type() == torch::kFloat32;
    return {single ? arena::DType::float32 : arena::DType::float64,
            x.size(0) * x.size(2) * x.size(3), x.size(1)};
}

void* data_or_null(const torch::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

/// Allocates scratch memory that one launch fills and the next one reads.
torch::Tensor sums(const torch::Tensor& x) {
    return torch::empty({arena::norm_sums(images(x))}, x.options().dtype(torch::kFloat64));
}

struct Forward {
    torch::Tensor y, both;
};

arena::Norm parameters(const torch::Tensor& weight, const torch::Tensor& bias) {
    return {weight.const_data_ptr(), bias.const_data_ptr()};
}

Forward launched(const torch::Tensor& x, const NormTensors& norm, const torch::Tensor& added,
                 double momentum, double eps, arena::Queue& queue) {
    Forward out{torch::empty_like(x, kChannelsLast),
                torch::empty({2, x.size(1)}, x.options().dtype(torch::kFloat64))};
    arena::norm_relu(images(x), x.const_data_ptr(), data_or_null(added),
                     parameters(norm.weight, norm.bias), momentum, eps,
                     norm.running_mean.data_ptr(), norm.running_variance.data_ptr(),
                     out.y.data_ptr(), out.both.mutable_data_ptr<double>(),
                     sums(x).mutable_data_ptr<double>(), queue);
    return out;
}

Gradients launched_backward(const torch::Tensor& x, const torch::Tensor& y,
                            const torch::Tensor& weight, const torch::Tensor& bias,
                            const torch::Tensor& both, const torch::Tensor& gradient,
                            arena::Queue& queue) {
    const bool added = y.defined();
    Gradients out{torch::empty_like(x, kChannelsLast), torch::empty_like(weight),
                  torch::empty_like(weight),
                  added ? torch::empty_like(x, kChannelsLast) : torch::Tensor()};
    arena::norm_relu_gradients(images(x),
                               {x.const_data_ptr(), data_or_null(y), parameters(weight, bias),
                                both.const_data_ptr<double>()},
                               gradient.const_data_ptr(), data_or_null(out.added), out.x.data_ptr(),
                               out.weight.data_ptr(), out.bias.data_ptr(),
                               sums(x).mutable_data_ptr<double>(), queue);
    return out;
}

class NormRelu : public torch::autograd::Function<NormRelu> {
public:
    static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                                 const torch::Tensor& weight, const torch::Tensor& bias,
                                 const torch::Tensor& running_mean,
                                 const torch::Tensor& running_variance,
                                 const std::optional<torch::Tensor>& added, double momentum,
                                 double eps, int64_t queue_address) {
        arena::Queue& queue = *reinterpret_cast<arena::Queue*>(queue_address);
        const NormTensors norm{weight, bias, running_mean, running_variance};
        const torch::Tensor sum = added ? added->contiguous(kChannelsLast) : torch::Tensor();
        Forward out;
        if (!queue.immediate()) {
            out = launched(x, norm, sum, momentum, eps, queue);
        } else {
            AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu", [&] {
                const auto in = pixels<scalar_t>(x);
                out.both = statistics(in, norm, momentum, eps);
                out.y = output(in, x, norm, sum, out.both);
            });
        }
        const bool needs_y = queue.immediate() || added;
        context->save_for_backward({x, needs_y ? out.y : torch::Tensor(), weight, bias, out.both});
        context->saved_data["added"] = added.has_value();
        context->saved_data["queue"] = queue_address;
        return out.y;
    }

    static variable_list backward(AutogradContext* context, variable_list outputs) {
        const auto saved = context->get_saved_variables();
        const torch::Tensor gradient = outputs[0].contiguous(kChannelsLast);
        const bool added = context->saved_data["added"].toBool();
        arena::Queue& queue =
            *reinterpret_cast<arena::Queue*>(context->saved_data["queue"].toInt());
        Gradients all;
        if (!queue.immediate()) {
            all = launched_backward(saved[0], saved[1], saved[2], saved[3], saved[4], gradient,
                                    queue);
        } else {
            AT_DISPATCH_FLOATING_TYPES(saved[0].scalar_type(), "norm_relu_backward", [&] {
                all = gradients<scalar_t>(saved[0], saved[1], saved[2], saved[4], gradient, added);
            });
        }
        return {all.x, all.weight, all.bias, {}, {}, all.added, {}, {}, {}};
    }
};

}  // namespace

bool accepts_norm_relu(const torch::Tensor& x, arena::Queue& queue) {
    return !at::functorch::isBatchedTensor(x) && (!queue.immediate() || x.device().is_cpu()) &&
           x.dim() == 4 && x.is_contiguous(kChannelsLast) &&
           (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kFloat64) &&
           (queue.immediate() || arena::supports_images(images(x)));
}

torch::Tensor norm_relu(const torch::Tensor& x, const NormTensors& norm, const torch::Tensor& added,
                        double momentum, double eps, arena::Queue& queue) {
    return NormRelu::apply(x, norm.weight, norm.bias, norm.running_mean, norm.running_variance,
                           added.defined() ? std::optional(added) : std::nullopt, momentum, eps,
                           reinterpret_cast<int64_t>(&queue));
}

}  // namespace dbench::train
