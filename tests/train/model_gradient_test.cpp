// Gradients compared with finite differences in float64, and with closed forms.

#include "model_fixture.hpp"

#include <cmath>

#include "catch.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

double loss_at(const Model& model, const Weights& weights, const data::Batch& batch) {
    const torch::NoGradGuard no_grad;
    return model.loss(model.forward(weights, input_tensor(batch), true), batch).item<double>();
}

void backward(const Model& model, const Weights& weights, const data::Batch& batch) {
    model.loss(model.forward(weights, input_tensor(batch), true), batch).backward();
}

/// True if the slope of the loss along a random direction of tensor `k` agrees with the gradient.
bool slope_is_gradient(const Model& model, const Weights& weights, const data::Batch& batch,
                       size_t k) {
    const double h = 1e-7;
    const torch::Tensor& parameter = weights.parameters[k];
    const torch::Tensor direction = torch::randn_like(parameter) / std::sqrt(parameter.numel());
    torch::Tensor moved = parameter.detach();  // the same memory
    const torch::Tensor before = moved.clone();
    moved.add_(direction, h);
    const double above = loss_at(model, weights, batch);
    moved.copy_(before).sub_(direction, h);
    const double below = loss_at(model, weights, batch);
    moved.copy_(before);
    const double slope = (parameter.grad() * direction).sum().item<double>();
    return (above - below) / (2 * h) == Catch::Approx(slope).epsilon(1e-5).margin(1e-7);
}

}  // namespace

TEST_CASE("Each tensor's gradient is the slope of the loss") {
    const ModelCase each = GENERATE(values<ModelCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}},
        {R"("least_squares")", {{13}, 0}},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}},
        {R"({"type": "cnn", "width": 3})", {{3, 9, 11}, 4}},
        {R"("resnet20")", {{3, 9, 8}, 10}},
        {R"("resnet20")", {{1, 8, 8}, 3}},
        {R"({"type": "lstm", "hidden": 5, "layers": 3, "dropout": 0})", {{4}, 7, true}},
        {R"({"type": "gpt", "layers": 1, "heads": 2, "width": 6, "dropout": 0})", {{4}, 7, true}},
    }));
    CAPTURE(each.spec);
    const auto model = make_model(each.spec, each.context);
    const Weights weights = draw_weights(*model, torch::kFloat64, 3);
    const RandomBatch data(4, each.context, model->order(), torch::kFloat64, 4);
    backward(*model, weights, data.batch);
    for (size_t k = 0; k < weights.parameters.size(); ++k) {
        CAPTURE(model->declaration().parameters[k].name);
        // A ReLU that switches between the two points makes one slope wrong; a wrong gradient makes
        // all slopes wrong.
        bool right = false;
        for (int attempt = 0; attempt < 3 && !right; ++attempt) {
            right = slope_is_gradient(*model, weights, data.batch, k);
        }
        CHECK(right);
    }
}

TEST_CASE("The gradient of least squares is A^T (A x - b) / m") {
    const ModelContext context{{13}, 0};
    const auto model = make_model(R"("least_squares")", context);
    const Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const RandomBatch data(9, context, model->order(), torch::kFloat64, 2);
    backward(*model, weights, data.batch);
    const torch::Tensor x = weights.parameters[0].detach();
    const torch::Tensor residual = data.inputs.matmul(x) - data.targets;
    CHECK(torch::allclose(weights.parameters[0].grad(), data.inputs.t().matmul(residual) / 9));
    CHECK(loss_at(*model, weights, data.batch) ==
          Catch::Approx(residual.square().sum().item<double>() / 2 / 9));
}

TEST_CASE("The gradient of softmax regression is (softmax - one hot) x^T / m") {
    const ModelContext context{{2, 3, 3}, 5};
    const auto model = make_model(R"("softmax_regression")", context);
    const Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const RandomBatch data(9, context, model->order(), torch::kFloat64, 2);
    backward(*model, weights, data.batch);
    const torch::Tensor x = data.inputs.reshape({9, 18});
    const torch::Tensor logits =
        x.matmul(weights.parameters[0].detach().t()) + weights.parameters[1].detach();
    const torch::Tensor error = (logits.softmax(1) - torch::one_hot(data.labels, 5)) / 9;
    CHECK(torch::allclose(weights.parameters[0].grad(), error.t().matmul(x)));
    CHECK(torch::allclose(weights.parameters[1].grad(), error.sum(0)));
}

TEST_CASE("A gradient that a layer writes in place has the same bits, and is not a copy") {
    struct Case {
        std::string model;
        ModelContext context;
        int in_place;  // number of tensors
    };
    const auto [spec, context, expected] = GENERATE(
        Case{R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}, 3},
        Case{R"({"type": "lstm", "hidden": 7, "dropout": 0})", {{13}, 6, true}, 2},
        Case{R"({"type": "lstm", "hidden": 7, "dropout": 0, "tied": true})", {{13}, 6, true}, 0},
        // Weights of layers with at most 64 pixels: the ten convolutions of layer4, the shortcut of
        // layer3, and fc.
        Case{R"({"type": "resnet50", "width": 8})", {{3, 64, 64}, 7}, 12});
    CAPTURE(spec);
    const auto model = make_model(spec, context);
    const Weights plain = draw_weights(*model, torch::kFloat32, 3);
    Weights written = draw_weights(*model, torch::kFloat32, 3);
    for (const torch::Tensor& parameter : written.parameters) {
        written.gradients.push_back(torch::full_like(parameter, 7.0).detach());
    }
    const RandomBatch data(4, context, model->order(), torch::kFloat32, 4);
    backward(*model, plain, data.batch);
    backward(*model, written, data.batch);
    int in_place = 0;
    for (size_t k = 0; k < plain.parameters.size(); ++k) {
        CHECK(torch::equal(plain.parameters[k].grad(), written.parameters[k].grad()));
        in_place += written.parameters[k].grad().data_ptr() == written.gradients[k].data_ptr();
    }
    CHECK(in_place == expected);  // weights that only one layer uses
}
