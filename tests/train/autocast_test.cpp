// Models under autocast: which values are rounded to bfloat16, and which remain float32.

#include "train/models/layers/autocast.hpp"

#include <ATen/autocast_mode.h>

#include "catch.hpp"
#include "model_fixture.hpp"
#include "train/models/layers/layers.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

double step(const Model& model, const Weights& weights, const data::Batch& batch) {
    const torch::Tensor output = model.forward(weights, input_tensor(batch), true);
    CHECK(output.scalar_type() == torch::kFloat32);
    const torch::Tensor loss = model.loss(output, batch);
    loss.backward();
    return loss.item<double>();
}

torch::Tensor gradient(const Weights& weights) {
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& parameter : weights.parameters) {
        CHECK(parameter.grad().scalar_type() == torch::kFloat32);
        all.push_back(parameter.grad().flatten());
    }
    return torch::cat(all);
}

}  // namespace

TEST_CASE("A step under autocast agrees with the float32 step to a few digits, and differs") {
    const ModelCase each = GENERATE(values<ModelCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}},
        {R"("least_squares")", {{13}, 0}},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}},
        {R"({"type": "cnn", "width": 3})", {{3, 9, 11}, 4}},
        {R"("lenet")", {{1, 16, 18}, 5}},
        {R"({"type": "vgg11", "width": 8, "dropout": 0})", {{3, 32, 32}, 5}},
        {R"("resnet20")", {{3, 9, 8}, 10}},
        {R"({"type": "wide_resnet", "depth": 10, "widen": 1})", {{3, 9, 8}, 10}},
        {R"({"type": "densenet", "depth": 10, "growth": 4})", {{3, 8, 8}, 10}},
        {R"({"type": "lstm", "hidden": 5, "dropout": 0})", {{4}, 7, true}},
        {R"({"type": "gpt", "layers": 1, "heads": 2, "width": 6, "dropout": 0})", {{4}, 7, true}},
        {R"({"type": "transformer", "layers": 1, "heads": 2, "width": 6, "hidden": 8,
             "dropout": 0})",
         {{2, 5}, 9, true}},
    }));
    CAPTURE(each.spec);
    const auto plain = make_model(each.spec, each.context);
    const auto rounded = autocast(make_model(each.spec, each.context));
    const Weights at = draw_weights(*plain, torch::kFloat32, 3);
    Weights same = draw_weights(*plain, torch::kFloat32, 3);
    for (const torch::Tensor& parameter : same.parameters) {
        same.gradients.push_back(torch::zeros_like(parameter).detach());
    }
    const RandomBatch data(16, each.context, plain->order(), torch::kFloat32, 4);
    const double loss = step(*plain, at, data.batch), other = step(*rounded, same, data.batch);
    CHECK(other != loss);
    CHECK(other == Catch::Approx(loss).epsilon(0.03));
    const torch::Tensor g = gradient(at), h = gradient(same);
    CHECK_FALSE(torch::equal(g, h));
    CHECK((g - h).norm().item<double>() < 0.5 * g.norm().item<double>());
    for (size_t k = 0; k < at.buffers.size(); ++k) {
        CHECK(same.buffers[k].scalar_type() == torch::kFloat32);
        CHECK(torch::allclose(at.buffers[k], same.buffers[k], 0.05, 0.02));
    }
    CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST_CASE("A convolution with bias is rounded under autocast, as torch.nn.Conv2d is") {
    Declaration declaration;
    const BiasedConv2d layer(declaration, "conv", {.in = 3, .out = 4}, uniform(0.5));
    torch::manual_seed(3);
    Weights weights;
    for (const ParameterInfo& info : declaration.parameters) {
        torch::Tensor tensor = torch::zeros(info.shape);
        info.initialise(tensor);
        weights.parameters.push_back(tensor);
    }
    const torch::Tensor x = torch::randn({2, 3, 6, 5}).contiguous(at::MemoryFormat::ChannelsLast);
    const torch::Tensor plain = layer(weights, x);
    CHECK(plain.scalar_type() == torch::kFloat32);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const torch::Tensor rounded = layer(weights, x);
    const torch::Tensor expected =
        torch::conv2d(x, weights.parameters[0], weights.parameters[1], 1, 1);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    CHECK(rounded.scalar_type() == torch::kBFloat16);
    CHECK(torch::equal(rounded, expected));
    CHECK(torch::allclose(rounded.to(torch::kFloat32), plain, 0.05, 0.05));
}

TEST_CASE("Autocast rounds the weights again in each pass") {
    const ModelContext context{{13}, 5};
    const auto model = autocast(make_model(R"({"type": "mlp", "hidden": [9]})", context));
    Weights weights = draw_weights(*model, torch::kFloat32, 3);
    const RandomBatch data(4, context, model->order(), torch::kFloat32, 4);
    const torch::NoGradGuard no_grad;
    const torch::Tensor before = model->forward(weights, data.inputs, true);
    for (torch::Tensor& parameter : weights.parameters) parameter.zero_();
    CHECK_FALSE(torch::equal(before, torch::zeros_like(before)));
    CHECK(torch::equal(model->forward(weights, data.inputs, true), torch::zeros_like(before)));
}
