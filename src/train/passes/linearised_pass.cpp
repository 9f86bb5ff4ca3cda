#include "train/passes/linearised_pass.hpp"

#include "base/error.hpp"
#include "train/mapped.hpp"

namespace dbench::train {
namespace {

/// Returns the labels as one-hot rows, or the targets, (samples, outputs).
torch::Tensor expected_outputs(const data::Batch& batch, torch::Device torch_device,
                               const torch::Tensor& one_hot) {
    return batch.labels ? one_hot.index({label_tensor(batch, torch_device)})
                        : target_tensor(batch).unsqueeze(1);
}

}  // namespace

void linearise_together(const Model& model, Weights weights, const data::Batch& batch,
                        torch::Device torch_device, const algorithms::Linearised& out) {
    DBENCH_EXPECT(batch.count == out.samples);
    const int64_t samples = out.samples, outputs = out.outputs;
    const torch::TensorOptions options =
        torch::TensorOptions(scalar_type(out.type)).device(torch_device);
    const torch::Tensor one_hot = torch::eye(outputs, options);
    std::vector<torch::Tensor> copies;  // (samples, shape...)
    for (const torch::Tensor& parameter : weights.parameters) {
        std::vector<int64_t> shape = parameter.sizes().vec();
        shape.insert(shape.begin(), samples);
        copies.push_back(
            parameter.detach().unsqueeze(0).expand(shape).contiguous().requires_grad_(true));
    }
    torch::Tensor f;  // (samples, outputs)
    {
        const Mapped mapped(samples);
        weights.parameters = mapped.each(copies);
        const torch::Tensor inputs = input_tensor(batch, torch_device).unsqueeze(1);
        f = Mapped::all(model.forward(weights, mapped.each(inputs), false))
                .reshape({samples, outputs});
    }
    const torch::Tensor jacobian = torch::zeros({samples, outputs, out.parameters}, options);
    for (int64_t c = 0; c < outputs; ++c) {
        const auto gradients =
            torch::autograd::grad({f}, copies, {one_hot[c].expand({samples, outputs})},
                                  c + 1 < outputs, false, /*allow_unused=*/true);
        int64_t first = 0;
        for (size_t k = 0; k < gradients.size(); ++k) {
            const int64_t numel = copies[k][0].numel();
            if (gradients[k].defined()) {
                jacobian.select(1, c)
                    .narrow(1, first, numel)
                    .copy_(gradients[k].reshape({samples, numel}));
            }
            first += numel;
        }
    }
    arena::with_type(out.type, [&]<class T>() {
        const auto write = [&](T* data, const torch::Tensor& from) {
            torch::from_blob(data, from.sizes(), scalar_type(out.type)).copy_(from);
        };
        write(out.jacobian<T>(0, 0), jacobian);
        write(out.f<T>(), f.detach());
        write(out.y<T>(), expected_outputs(batch, torch_device, one_hot));
    });
}

void linearise(const Model& model, Weights weights, const data::Batch& batch,
               torch::Device torch_device, const algorithms::Linearised& out) {
    DBENCH_EXPECT(batch.count == out.samples);
    for (torch::Tensor& parameter : weights.parameters) parameter.requires_grad_(true);
    const torch::Tensor input = input_tensor(batch, torch_device);
    const torch::Tensor one_hot =
        torch::eye(out.outputs, torch::TensorOptions(scalar_type(out.type)).device(torch_device));
    arena::with_type(out.type, [&]<class T>() {
        const auto tensor_at = [&](T* data, at::IntArrayRef shape) {
            return torch::from_blob(data, shape, scalar_type(out.type));
        };
        tensor_at(out.y<T>(), {out.samples, out.outputs})
            .copy_(expected_outputs(batch, torch_device, one_hot));
        for (int64_t s = 0; s < out.samples; ++s) {
            const torch::Tensor output =
                model.forward(weights, input.narrow(0, s, 1), false).view({out.outputs});
            tensor_at(out.f<T>() + s * out.outputs, {out.outputs}).copy_(output.detach());
            for (int64_t c = 0; c < out.outputs; ++c) {
                T* next = out.jacobian<T>(s, c);
                const auto gradients =
                    torch::autograd::grad({output}, weights.parameters, {one_hot[c]},
                                          c + 1 < out.outputs, false, /*allow_unused=*/true);
                for (size_t k = 0; k < gradients.size(); ++k) {
                    torch::Tensor to = tensor_at(next, weights.parameters[k].sizes());
                    gradients[k].defined() ? to.copy_(gradients[k]) : to.zero_();
                    next += to.numel();
                }
            }
        }
    });
}

}  // namespace dbench::train
