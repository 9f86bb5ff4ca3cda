// A captured pass reports its buckets at the points where backward completes them, and launches for
// a bucket run concurrently with the rest of the pass.

#include <string>
#include <vector>

#include "algorithms/step/timers.hpp"
#include "catch.hpp"
#include "immediate_queue.hpp"
#include "model_fixture.hpp"
#include "train/passes/bucket_watch.hpp"
#include "train/passes/captured_passes.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

/// Runs the work once during the capture, as CUDA runs its host part, and calls `at_end` at the end
/// of each part.
class CaptureRunningDevice final : public Device {
public:
    ImmediateQueue own, side;
    std::vector<int> parts;  ///< number of parts that each capture has ended
    std::function<void(int part)> at_end;
    bool fails = false;

    arena::Place place() const override { return {step_, step_}; }
    arena::StepQueue* step_queue() override { return &step_; }
    std::unique_ptr<CapturedWork> capture(const char* name,
                                          std::vector<std::vector<arena::Access>> accesses,
                                          std::function<void(const EndPart&)> work,
                                          arena::Queue& queue) override {
        parts.push_back(0);
        work([this] {
            at_end(parts.back()++);
            if (fails) throw base::RunError("an operation that is not allowed");
        });
        return Device::capture(name, std::move(accesses), std::move(work), queue);
    }

private:
    mutable arena::StepQueue step_{own, side};
};

struct CaptureRun {
    ModelContext context{{3, 8, 8}, 5};
    std::unique_ptr<Model> model =
        make_model(R"({"type": "mlp", "hidden": [20, 150, 150, 150]})", context);
    CaptureRunningDevice device;
    Replicas replicas{*model, {2, 1},  0,     arena::DType::float32, Init::independent,
                      1,      nullptr, device};
    Executor executor{*model, replicas, {.captured = 8}};
    RandomBatch data{4, context, model->order(), torch::kFloat32, 7};
    std::vector<arena::Columns> buckets = gradient_buckets(replicas.layout(), replicas.x().type,
                                                           replicas.device().min_bucket_bytes());
    std::vector<double> loss = std::vector<double>(2), accuracy = loss;
    algorithms::Timers timers{arena::host_queue()};

    explicit CaptureRun() {
        REQUIRE(buckets.size() >= 3);
        timers.start();
        for (int64_t t = 0; t < CapturedPasses::kWarm; ++t) gradients(t, [](arena::Columns) {});
        REQUIRE(device.parts.empty());
    }
    void gradients(int64_t t, const std::function<void(arena::Columns)>& ready) {
        const auto batch = [this](int64_t) -> const data::Batch& { return data.batch; };
        executor.gradients(t, replicas.x(), batch, timers, ready, loss.data(), accuracy.data());
    }
    std::vector<torch::Tensor> last_gradients() const {
        return views(replicas.layout(), replicas.g(), 1);
    }
    /// For each tensor of the last replica: true if it has a gradient.
    std::vector<bool> there() const {
        std::vector<bool> all;
        for (const torch::Tensor& each : last_gradients()) {
            const auto finite = each.isfinite();
            CHECK(finite.all().item<bool>() == finite.any().item<bool>());
            all.push_back(finite.all().item<bool>());
        }
        return all;
    }
};

TEST_CASE("A captured pass reports a bucket as soon as it is complete") {
    CaptureRun run;
    for (torch::Tensor each : run.last_gradients()) each.fill_(NAN);
    run.device.at_end = [&](int part) {
        const std::vector<bool> there = run.there();
        const auto& tensors = run.replicas.layout().tensors();
        for (size_t k = 0; k < tensors.size(); ++k) {
            INFO("part " << part << ", tensor " << k);
            CHECK(there[k] ==
                  (tensors[k].offset >= run.buckets.at(static_cast<size_t>(part)).begin));
        }
    };
    int64_t own = 0;
    std::vector<arena::Columns> told;
    run.gradients(2, [&](arena::Columns bucket) {
        if (told.empty()) own = run.device.own.launches;
        told.push_back(bucket);
        const int64_t before = run.device.side.launches;
        run.device.place().compute().launch({"update", {}, 0, nullptr});
        CHECK(run.device.side.launches == before + 1);
        CHECK(run.device.own.launches == own);
    });
    CHECK((told == run.buckets));
    // Only the last replica's pass has parts: with it all replicas have completed the bucket.
    CHECK(run.device.parts == std::vector<int>{0, static_cast<int>(run.buckets.size())});
    const int64_t side = run.device.side.launches;
    run.device.place().compute().launch({"mixing", {}, 0, nullptr});
    CHECK(run.device.side.launches == side);
}

TEST_CASE(
    "If a capture fails in the middle of a pass, its buckets are reported as without capture") {
    CaptureRun run;
    run.device.fails = true;
    run.device.at_end = [](int) {};
    for (int64_t t = 2; t < 4; ++t) {
        std::vector<arena::Columns> told;
        for (torch::Tensor each : run.last_gradients()) each.fill_(NAN);
        run.gradients(t, [&](arena::Columns bucket) { told.push_back(bucket); });
        CHECK((told == run.buckets));
        for (const bool there : run.there()) CHECK(there);
    }
    CHECK(run.executor.uncaptured() == "an operation that is not allowed");
    CHECK(run.device.parts == std::vector<int>{0, 1});
}

TEST_CASE("After an error in work concurrent with a captured pass the step uses its own queue") {
    CaptureRun run;
    run.device.at_end = [](int) {};
    const auto fails = [](arena::Columns) { throw base::RunError("rows that do not come"); };
    CHECK_THROWS_WITH(run.gradients(2, fails), "rows that do not come");
    const int64_t own = run.device.own.launches;
    run.device.place().compute().launch({"what is left to do", {}, 0, nullptr});
    CHECK(run.device.own.launches == own + 1);
}

/// A model of a matrix, and of a vector that no output depends on.
class HalfIdle final : public Model {
public:
    explicit HalfIdle(const ModelContext& context) {
        const int64_t in = data::numel(context.input_shape);
        const auto draw = [](torch::Tensor& t) { t.uniform_(-1, 1); };
        declaration_.parameter({"used", {context.classes, in}, arena::TensorKind::weight, draw});
        declaration_.parameter({"idle", {50000}, arena::TensorKind::bias, draw});
    }
    torch::Tensor forward(const Weights& weights, const torch::Tensor& input, bool) const override {
        return input.flatten(1).mm(weights.parameters[0].t());
    }
};

TEST_CASE("A parameter that no gradient reaches gets a zero gradient, and its bucket is reported") {
    const bool thorough = GENERATE(false, true);
    const ModelContext context{{3, 8, 8}, 5};
    const HalfIdle model(context);
    CaptureRunningDevice capturing;
    Device host;
    Device& device = thorough ? capturing : host;
    capturing.at_end = [](int) {};
    Replicas replicas(model, {2, 1}, 0, arena::DType::float32, Init::independent, 1, nullptr,
                      device);
    Executor executor(model, replicas, {.captured = 8});
    RandomBatch data(4, context, model.order(), torch::kFloat32, 7);
    algorithms::Timers timers{arena::host_queue()};
    timers.start();
    std::vector<double> loss(2), accuracy(2);
    for (int64_t t = 0; t < 5; ++t) {
        for (int64_t i = 0; i < 2; ++i) {
            for (torch::Tensor each : views(replicas.layout(), replicas.g(), i)) each.fill_(NAN);
        }
        std::vector<arena::Columns> told;
        executor.gradients(
            t, replicas.x(), [&](int64_t) -> const data::Batch& { return data.batch; }, timers,
            [&](arena::Columns bucket) { told.push_back(bucket); }, loss.data(), accuracy.data());
        CHECK((told ==
               gradient_buckets(replicas.layout(), replicas.x().type, device.min_bucket_bytes())));
        for (int64_t i = 0; i < 2; ++i) {
            const auto gradients = views(replicas.layout(), replicas.g(), i);
            CHECK(gradients[0].isfinite().all().item<bool>());
            CHECK(gradients[0].abs().sum().item<double>() > 0);
            CHECK(gradients[1].eq(0).all().item<bool>());
        }
    }
}

}  // namespace
}  // namespace dbench::train
