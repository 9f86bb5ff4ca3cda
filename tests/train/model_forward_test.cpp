// Predictions: which count as correct, memory order, and the effects of evaluation.

#include "model_fixture.hpp"

#include <cmath>
#include <limits>

#include "catch.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

const ModelContext kThree{{4}, 3};

double correct(std::vector<float> logits, std::vector<int64_t> labels, int64_t top = 1) {
    const auto model = make_model(R"("softmax_regression")", kThree);
    data::Batch batch;
    batch.count = batch.terms = static_cast<int64_t>(labels.size());
    batch.labels = labels.data();
    return model->correct(torch::tensor(logits).reshape({batch.count, -1}), batch, top);
}

}  // namespace

TEST_CASE("The first class wins among equal logits") {
    CHECK(correct({1, 2, 0}, {1}) == 1);
    CHECK(correct({1, 2, 0}, {0}) == 0);
    CHECK(correct({2, 2, 0}, {0}) == 1);
    CHECK(correct({2, 2, 0}, {1}) == 0);
    CHECK(correct({0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 2}) == 1);
    CHECK(correct({-1, -3, -1}, {2}) == 0);
}

TEST_CASE("A label counts among the `top` largest logits by its rank") {
    const std::vector<float> logits = {0, 5, 1, 4, 2, 3, -1};
    const std::vector<int64_t> rank = {6, 1, 5, 2, 4, 3, 7};
    for (int64_t label = 0; label < 7; ++label) {
        for (int64_t top = 1; top <= 7; ++top) {
            const bool among = rank[static_cast<size_t>(label)] <= top;
            CHECK(correct(logits, {label}, top) == (among ? 1 : 0));
        }
    }
    CHECK(correct({7, 7, 7, 7}, {1}, 2) == 1);
    CHECK(correct({7, 7, 7, 7}, {2}, 2) == 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(correct({nan, 0, 1}, {2}, 2) == 1);
    CHECK(correct({nan, 0, 1}, {0}, 3) == 0);
}

TEST_CASE("Predictions with NaN are wrong, and infinite ones are numbers") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(correct({nan, nan, nan}, {0}) == 0);
    CHECK(correct({nan, 1, 0}, {0}) == 0);
    CHECK(correct({1, 0, nan}, {0}) == 0);
    CHECK(correct({0, inf, -inf}, {1}) == 1);
    CHECK(correct({-inf, -inf, -inf}, {0}) == 1);
    CHECK(correct({nan}, {0}) == 0);
}

TEST_CASE("Real targets have no accuracy") {
    const ModelContext context{{5}, 0};
    const auto model = make_model(R"("least_squares")", context);
    const Weights weights = draw_weights(*model, torch::kFloat32, 1);
    const RandomBatch data(3, context, model->order(), torch::kFloat32, 2);
    const torch::Tensor output = model->forward(weights, input_tensor(data.batch), true);
    CHECK(output.sizes() == torch::IntArrayRef({3}));
    CHECK(std::isnan(model->correct(output, data.batch, 1)));
}

TEST_CASE("Outputs do not depend on the batch's memory order") {
    const ModelContext context{{3, 16, 8}, 10};
    for (const char* spec : {R"("softmax_regression")", R"("mlp")", R"("cnn")", R"("resnet20")"}) {
        CAPTURE(spec);
        const auto model = make_model(spec, context);
        const Weights weights = draw_weights(*model, torch::kFloat64, 1);
        const RandomBatch plain(4, context, data::Order::contiguous, torch::kFloat64, 2);
        const RandomBatch last(4, context, data::Order::channels_last, torch::kFloat64, 2);
        CHECK(input_tensor(last.batch).equal(plain.inputs));
        CHECK(torch::allclose(model->forward(weights, input_tensor(plain.batch), false),
                              model->forward(weights, input_tensor(last.batch), false)));
    }
}

TEST_CASE("Training updates the running statistics, and evaluation reads them") {
    const ModelContext context{{3, 8, 8}, 10};
    const auto model = make_model(R"("cnn")", context);
    const Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const RandomBatch data(4, context, model->order(), torch::kFloat64, 2);
    const torch::Tensor input = input_tensor(data.batch);

    const torch::Tensor untrained = model->forward(weights, input, false);
    for (const auto& buffer : weights.buffers)
        CHECK((buffer.eq(0) | buffer.eq(1)).all().item<bool>());

    model->forward(weights, input, true);
    const torch::Tensor first = torch::conv2d(data.inputs, weights.parameters[0], {}, 1, 1);
    CHECK(torch::allclose(weights.buffers[0], 0.1 * first.mean({0, 2, 3})));
    CHECK(torch::allclose(weights.buffers[1], 0.9 + 0.1 * first.var({0, 2, 3}, true)));
    CHECK_FALSE(torch::allclose(model->forward(weights, input, false), untrained));
}
