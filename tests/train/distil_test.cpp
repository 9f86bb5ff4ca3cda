// The executor's distillation loss: gradients compared with finite differences of its definition,
// in float64.

#include <cmath>

#include "algorithms/step/timers.hpp"
#include "catch.hpp"
#include "model_fixture.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

constexpr int64_t kDistilReplicas = 2;

struct DistilCase {
    const char* spec;
    ModelContext context;
    double temperature;
};

/// Two replicas, their teachers, and a minibatch for each replica.
struct DistillationFixture {
    std::unique_ptr<Model> model;
    Replicas replicas, teachers;
    std::vector<RandomBatch> data;
    Executor executor;
    algorithms::Timers timers{arena::host_queue()};

    explicit DistillationFixture(const DistilCase& each)
        : model(make_model(each.spec, each.context)),
          replicas(*model, {kDistilReplicas, 1}, 0, arena::DType::float64, Init::independent, 1),
          teachers(*model, {kDistilReplicas, 1}, 0, arena::DType::float64, Init::independent, 2),
          executor(*model, replicas) {
        for (uint64_t i = 0; i < kDistilReplicas; ++i) {
            data.emplace_back(4, each.context, model->order(), torch::kFloat64, 10 + i);
        }
    }
    void distil(double temperature) {
        timers.start();
        executor.distil(
            0, replicas.x(), teachers.x(),
            [&](int64_t i) -> const data::Batch& { return data[i].batch; }, temperature, timers);
    }
    std::vector<torch::Tensor> gradient(int64_t i) {
        return views(replicas.layout(), replicas.g(), i);
    }
    torch::Tensor output(Replicas& of, int64_t i) {
        const torch::NoGradGuard no_grad;
        Weights weights{views(of.layout(), of.x(), i), views(of.buffer_layout(), of.buffers(), i)};
        for (torch::Tensor& buffer : weights.buffers) buffer = buffer.clone();
        return model->forward(weights, input_tensor(data[i].batch), true);
    }
    /// Computes the distance from its formula: a mean over samples.
    double distance(int64_t i, double temperature) {
        const torch::Tensor student = output(replicas, i), teacher = output(teachers, i);
        if (data[i].batch.labels == nullptr) {
            return 0.5 * (student - teacher).square().mean().item<double>();
        }
        const torch::Tensor p = (teacher / temperature).softmax(1),
                            q = (student / temperature).softmax(1);
        return temperature * temperature * (p * (p.log() - q.log())).sum(1).mean().item<double>();
    }
    /// True if the slope of the distance along a random direction of tensor k agrees with the
    /// gradient.
    bool slope_is_gradient(int64_t i, size_t k, double temperature) {
        const double h = 1e-6;
        torch::Tensor parameter = views(replicas.layout(), replicas.x(), i)[k];
        const torch::Tensor before = parameter.clone();
        const torch::Tensor direction = torch::randn_like(parameter) / std::sqrt(parameter.numel());
        parameter.add_(direction, h);
        const double above = distance(i, temperature);
        parameter.copy_(before).sub_(direction, h);
        const double below = distance(i, temperature);
        parameter.copy_(before);
        const double slope = (gradient(i)[k] * direction).sum().item<double>();
        return (above - below) / (2 * h) == Catch::Approx(slope).epsilon(1e-4).margin(1e-8);
    }
};

}  // namespace

TEST_CASE("Gradients of the distance from a teacher are its slopes") {
    const DistilCase each = GENERATE(values<DistilCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}, 1},
        {R"("least_squares")", {{13}, 0}, 1},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}, 3},
        {R"({"type": "cnn", "width": 3})", {{3, 9, 11}, 4}, 0.5},
        {R"("resnet20")", {{3, 9, 8}, 10}, 2},
    }));
    CAPTURE(each.spec);
    DistillationFixture pupils(each);
    for (int64_t i = 0; i < kDistilReplicas; ++i) {
        for (torch::Tensor& row : pupils.gradient(i)) row.fill_(7.0);  // is to be overwritten
    }
    const auto buffers = views(pupils.replicas.buffer_layout(), pupils.replicas.buffers(), 0);
    std::vector<torch::Tensor> before;
    for (const torch::Tensor& buffer : buffers) before.push_back(buffer.clone());
    pupils.distil(each.temperature);
    for (size_t k = 0; k < buffers.size(); ++k) CHECK(torch::equal(buffers[k], before[k]));
    for (int64_t i = 0; i < kDistilReplicas; ++i) {
        CHECK(pupils.distance(i, each.temperature) > 1e-6);
        for (size_t k = 0; k < pupils.gradient(i).size(); ++k) {
            CAPTURE(i, pupils.model->declaration().parameters[k].name);
            // A ReLU that switches between the two points makes the slope wrong.
            bool right = false;
            for (int attempt = 0; attempt < 3 && !right; ++attempt) {
                right = pupils.slope_is_gradient(i, k, each.temperature);
            }
            CHECK(right);
        }
    }
}

TEST_CASE("The gradient of the distance for a linear model is the difference of two gradients") {
    const DistilCase each = GENERATE(values<DistilCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}, 1},
        {R"("least_squares")", {{13}, 0}, 1},
    }));
    DistillationFixture pupils(each);
    pupils.distil(1);
    for (int64_t i = 0; i < kDistilReplicas; ++i) {
        const auto gradient_of = [&](Replicas& of) {
            Weights weights{views(of.layout(), of.x(), i), {}};
            for (torch::Tensor& parameter : weights.parameters) {
                parameter = parameter.clone().requires_grad_(true);
            }
            const data::Batch& batch = pupils.data[i].batch;
            pupils.model->loss(pupils.model->forward(weights, input_tensor(batch), true), batch)
                .backward();
            return weights.parameters;
        };
        const auto student = gradient_of(pupils.replicas), teacher = gradient_of(pupils.teachers);
        const auto found = pupils.gradient(i);
        for (size_t k = 0; k < found.size(); ++k) {
            CHECK(torch::allclose(found[k], student[k].grad() - teacher[k].grad(), 1e-9, 1e-12));
        }
    }
}
