// A pass of all replicas compared with one pass after another: gradients, losses and statistics.

#include "train/passes/stacked_pass.hpp"

#include <algorithm>
#include <optional>

#include "algorithms/step/timers.hpp"
#include "catch.hpp"
#include "immediate_queue.hpp"
#include "model_fixture.hpp"
#include "train/models/layers/autocast.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

struct StackedPassCase {
    const char* spec;
    ModelContext context;
    int64_t replicas;
};

/// The results of a pass over all replicas.
struct Outcome {
    std::vector<double> loss, accuracy;
    torch::Tensor gradients, buffers;
    std::vector<int> told;  ///< tensors, in the order of their completion
};

torch::Tensor elements(const arena::Layout& layout, const arena::Rows& rows) {
    std::vector<torch::Tensor> all = {torch::zeros({0}, scalar_type(rows.type))};
    for (int64_t i = 0; i < rows.count && rows.data; ++i) {
        for (const torch::Tensor& each : views(layout, rows, i)) all.push_back(each.flatten());
    }
    return torch::cat(all);
}

/// Runs two steps; the second one starts from the state that the first one left.
Outcome pass(const Model& model, const ModelContext& context, int64_t count, arena::DType type,
             bool stacked, arena::Queue& queue = arena::host_queue()) {
    Replicas replicas(model, {count, 1}, 0, type, Init::independent, 1);
    Executor executor(model, replicas, {.smoothing = context.classes > 0 ? 0.1 : 0.0});
    std::optional<StackedPass> together;
    if (stacked) together.emplace(model, replicas, context.classes > 0 ? 0.1 : 0.0);
    algorithms::Timers timers{arena::host_queue()};
    timers.start();
    Outcome out;
    out.loss.resize(static_cast<size_t>(count));
    out.accuracy.resize(out.loss.size());
    for (uint64_t t = 0; t < 2; ++t) {
        std::optional<RandomBatch> data;
        const auto batch = [&](int64_t i) -> const data::Batch& {
            data.emplace(4, context, model.order(), scalar_type(type),
                         100 * t + static_cast<uint64_t>(i));
            return data->batch;
        };
        out.told.clear();
        if (stacked) {
            together->gradients(
                replicas.x(), *together->join_batches(count, batch),
                {out.loss.data(), out.accuracy.data()},
                [&](int tensor) { out.told.push_back(tensor); }, queue);
            continue;
        }
        for (int64_t i = 0; i < count; ++i) {
            const auto score = executor.gradient(0, replicas.x(), i, batch(i), timers);
            out.loss[static_cast<size_t>(i)] = score.loss;
            out.accuracy[static_cast<size_t>(i)] = score.accuracy;
        }
    }
    out.gradients = elements(replicas.layout(), replicas.g()).clone();
    out.buffers = elements(replicas.buffer_layout(), replicas.buffers()).clone();
    return out;
}

bool near_stacked_pass(const torch::Tensor& a, const torch::Tensor& b, double tolerance) {
    return a.numel() == 0 ||
           (a - b).abs().max().item<double>() <= tolerance * b.abs().max().item<double>();
}

}  // namespace

TEST_CASE("One pass of all replicas gives each replica the results of a pass of its own") {
    const StackedPassCase each = GENERATE(values<StackedPassCase>({
        {R"("softmax_regression")", {{3, 5, 4}, 7}, 1},
        {R"("least_squares")", {{13}, 0}, 3},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}, 1},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}, 3},
        {R"({"type": "mlp", "hidden": [11, 9]})", {{2, 3, 3}, 5}, 16},
        {R"({"type": "cnn", "width": 3})", {{3, 9, 11}, 4}, 3},
        {R"("resnet20")", {{3, 9, 8}, 10}, 3},
        {R"({"type": "wide_resnet", "depth": 10, "widen": 1})", {{3, 9, 8}, 10}, 3},
        {R"({"type": "densenet", "depth": 10, "growth": 4})", {{3, 8, 8}, 10}, 3},
        {R"({"type": "resnet50", "width": 2})", {{3, 32, 32}, 10}, 2},
        {R"("lenet")", {{3, 32, 32}, 10}, 2},
        {R"({"type": "vgg11", "width": 8, "dropout": 0})", {{3, 32, 33}, 10}, 2},
        {R"({"type": "gpt", "layers": 1, "heads": 2, "width": 6, "dropout": 0})",
         {{4}, 7, true},
         3},
    }));
    CAPTURE(each.spec, each.replicas);
    const auto model = make_model(each.spec, each.context);
    REQUIRE(algorithms::batched_obstacle(facts_of(*model)).empty());
    const Outcome one = pass(*model, each.context, each.replicas, arena::DType::float64, false);
    const Outcome all = pass(*model, each.context, each.replicas, arena::DType::float64, true);
    for (size_t i = 0; i < one.loss.size(); ++i) {
        CHECK(all.loss[i] == Catch::Approx(one.loss[i]).epsilon(1e-10));
        if (each.context.classes > 0) CHECK(all.accuracy[i] == one.accuracy[i]);
    }
    CHECK(near_stacked_pass(all.gradients, one.gradients, 1e-10));
    CHECK(near_stacked_pass(all.buffers, one.buffers, 1e-10));
    std::vector<int> sorted = all.told;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
    CHECK(sorted.size() == model->declaration().parameters.size());
    CHECK(all.told.back() < 2);  // last tensors first, as buckets require
}

TEST_CASE("Launched kernels treat replicas as groups of channels too") {
    // Models, with their numbers of BatchNorms that have a ReLU.
    const auto [spec, norms] =
        GENERATE(std::pair{R"("resnet20")", 19},
                 std::pair{R"({"type": "wide_resnet", "depth": 10, "widen": 1})", 7},
                 std::pair{R"({"type": "resnet50", "width": 4})", 49});
    CAPTURE(spec);
    const ModelContext context{{3, 32, 32}, 10};
    const auto model = make_model(spec, context);
    const Outcome one = pass(*model, context, 2, arena::DType::float64, false);
    ImmediateQueue queue;
    const Outcome all = pass(*model, context, 2, arena::DType::float64, true, queue);
    CHECK(queue.launches == 2 * (4 * norms + 1));  // in two passes, with one launch for scores
    CHECK(near_stacked_pass(all.gradients, one.gradients, 1e-10));
    CHECK(near_stacked_pass(all.buffers, one.buffers, 1e-10));
}

TEST_CASE("One pass under autocast rounds like passes of single replicas") {
    const ModelContext context{{2, 3, 3}, 5};
    const char* const spec = R"({"type": "mlp", "hidden": [11, 9]})";
    const auto rounded = autocast(make_model(spec, context));
    const Outcome one = pass(*rounded, context, 3, arena::DType::float32, false);
    const Outcome all = pass(*rounded, context, 3, arena::DType::float32, true);
    const Outcome plain = pass(*make_model(spec, context), context, 3, arena::DType::float32, true);
    CHECK(near_stacked_pass(all.gradients, one.gradients, 0.01));
    CHECK_FALSE(near_stacked_pass(plain.gradients, one.gradients, 0.001));
}

TEST_CASE("Models that cannot share a pass report the reason") {
    const auto reason = [](const char* spec, const ModelContext& context) {
        return algorithms::batched_obstacle(facts_of(*make_model(spec, context)));
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(reason(R"({"type": "gpt", "layers": 1, "heads": 2, "width": 6})", {{4}, 7, true}),
               ContainsSubstring("uses dropout"));
    CHECK_THAT(reason(R"({"type": "lstm", "hidden": 5, "dropout": 0})", {{4}, 7, true, 2}),
               ContainsSubstring("carries state"));
    CHECK_THAT(reason(R"({"type": "lstm", "hidden": 5, "dropout": 0})", {{4}, 7, true}),
               ContainsSubstring("one replica"));
    CHECK_THAT(reason(R"({"type": "transformer", "width": 6, "heads": 2, "dropout": 0})",
                      {{2, 5}, 9, true}),
               ContainsSubstring("one replica"));
}
