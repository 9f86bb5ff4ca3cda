// The executor's Jacobians compared with finite differences and with its own gradients, in float64.

#include <cmath>

#include "algorithms/kernel_flow.hpp"
#include "catch.hpp"
#include "model_fixture.hpp"
#include "train/passes/executor.hpp"
#include "train/passes/linearised_pass.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

/// Two different replicas, and a minibatch.
struct Fixture {
    std::unique_ptr<Model> model;
    Replicas replicas;
    Executor executor;
    RandomBatch data;
    algorithms::Timers timers{arena::host_queue()};
    std::vector<double> memory;
    algorithms::Linearised around;

    explicit Fixture(const ModelCase& each)
        : model(make_model(each.spec, each.context)),
          replicas(*model, {2, 1}, 0, arena::DType::float64, Init::independent, 1),
          executor(*model, replicas),
          data(3, each.context, model->order(), torch::kFloat64, 5),
          around{nullptr, arena::DType::float64, 3, std::max<int64_t>(1, each.context.classes),
                 replicas.layout().numel()} {
        memory.resize(static_cast<size_t>(around.elements()), std::nan(""));
        around.data = reinterpret_cast<char*>(memory.data());
        timers.start();
        executor.linearise(replicas.x().at(1, 0), 0, data.batch, around, timers);
    }
    double loss() { return executor.loss(replicas.x().at(1, 0), 0, data.batch, timers); }
};

}  // namespace

TEST_CASE("The Jacobian predicts how outputs move along a direction") {
    const ModelCase each = GENERATE(values<ModelCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}},
        {R"("least_squares")", {{13}, 0}},
        {R"({"type": "mlp", "hidden": [11]})", {{2, 3, 3}, 5}},
    }));
    CAPTURE(each.spec);
    Fixture fixture(each);
    const auto& [data, type, samples, outputs, parameters] = fixture.around;

    torch::manual_seed(3);
    const double h = 1e-6;
    std::vector<double> direction;
    for (int64_t p = 0; p < parameters; ++p) {
        direction.push_back(torch::randn({1}).item<double>() / std::sqrt(double(parameters)));
    }
    const auto moved = [&](double length) {
        int64_t next = 0;
        for (torch::Tensor tensor : views(fixture.replicas.layout(), fixture.replicas.x(), 1)) {
            auto* values = tensor.data_ptr<double>();
            for (int64_t k = 0; k < tensor.numel(); ++k) values[k] += length * direction[next++];
        }
        Fixture& f = fixture;
        std::vector<double> memory(f.memory.size());
        algorithms::Linearised out = f.around;
        out.data = reinterpret_cast<char*>(memory.data());
        f.executor.linearise(f.replicas.x().at(1, 0), 0, f.data.batch, out, f.timers);
        return std::vector<double>(out.f<double>(), out.f<double>() + samples * outputs);
    };
    const auto above = moved(h), below = moved(-2 * h);
    for (int64_t s = 0; s < samples; ++s) {
        for (int64_t c = 0; c < outputs; ++c) {
            double slope = 0;
            for (int64_t p = 0; p < parameters; ++p) {
                slope += fixture.around.jacobian<double>(s, c)[p] * direction[p];
            }
            const double found = (above[s * outputs + c] - below[s * outputs + c]) / (2 * h);
            CHECK(found == Catch::Approx(slope).epsilon(1e-5).margin(1e-8));
        }
    }
}

TEST_CASE("The first direction of the kernel flow is the gradient of the model's loss") {
    const ModelCase each = GENERATE(values<ModelCase>({
        {R"({"type": "mlp", "hidden": [11]})", {{2, 3, 3}, 5}},
        {R"("least_squares")", {{13}, 0}},
    }));
    CAPTURE(each.spec);
    Fixture fixture(each);
    const algorithms::KernelFlow flow({fixture.around}, each.context.classes > 0);
    const auto found = flow.gradient(flow.residual(flow.start()));

    const auto& replicas = fixture.replicas;
    Weights weights{views(replicas.layout(), replicas.x(), 1), {}};
    for (torch::Tensor& parameter : weights.parameters) parameter.requires_grad_(true);
    const data::Batch& batch = fixture.data.batch;
    const torch::Tensor loss =
        fixture.model->loss(fixture.model->forward(weights, input_tensor(batch), true), batch);
    loss.backward();
    CHECK(fixture.loss() == Catch::Approx(loss.item<double>()));
    int64_t next = 0;
    for (const torch::Tensor& parameter : weights.parameters) {
        const torch::Tensor gradient = parameter.grad().flatten();
        for (int64_t k = 0; k < gradient.numel(); ++k) {
            CHECK(found[next++] ==
                  Catch::Approx(gradient[k].item<double>()).epsilon(1e-9).margin(1e-14));
        }
    }
    CHECK(next == replicas.layout().numel());
}

TEST_CASE("All samples linearised together give the Jacobian of each sample") {
    const ModelCase each = GENERATE(values<ModelCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}},
        {R"("least_squares")", {{13}, 0}},
        {R"({"type": "mlp", "hidden": [11, 6]})", {{2, 3, 3}, 5}},
        {R"({"type": "vgg11", "width": 8, "dropout": 0})", {{3, 32, 32}, 3}},
    }));
    CAPTURE(each.spec);
    Fixture fixture(each);
    std::vector<double> memory(fixture.memory.size(), std::nan(""));
    algorithms::Linearised out = fixture.around;
    out.data = reinterpret_cast<char*>(memory.data());
    Weights weights{views(fixture.replicas.layout(), fixture.replicas.x(), 1), {}};
    linearise_together(*fixture.model, weights, fixture.data.batch, torch::kCPU, out);
    for (size_t k = 0; k < memory.size(); ++k) {
        CHECK(memory[k] == Catch::Approx(fixture.memory[k]).epsilon(1e-10).margin(1e-12));
    }
}
