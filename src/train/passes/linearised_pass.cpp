#include "train/passes/linearised_pass.hpp"

#include "base/error.hpp"

namespace dbench::train {

void linearise(const Model& model, Weights weights, const data::Batch& batch, torch::Device place,
               const algorithms::Linearised& out) {
    DBENCH_EXPECT(batch.count == out.samples);
    for (torch::Tensor& parameter : weights.parameters) parameter.requires_grad_(true);
    const torch::Tensor input = input_tensor(batch, place);
    const torch::Tensor one_hot =
        torch::eye(out.outputs, torch::TensorOptions(scalar_type(out.type)).device(place));
    arena::with_type(out.type, [&]<class T>() {
        const auto tensor_at = [&](T* data, at::IntArrayRef shape) {
            return torch::from_blob(data, shape, scalar_type(out.type));
        };
        tensor_at(out.y<T>(), {out.samples, out.outputs})
            .copy_(batch.labels ? one_hot.index({label_tensor(batch, place)})
                                : target_tensor(batch).unsqueeze(1));
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
