// The Transformer: what its positions see, translations, and gradients by parts of a batch.

#include <cmath>

#include "catch.hpp"
#include "data/byte_pairs.hpp"
#include "data/sentence_pairs.hpp"
#include "model_fixture.hpp"
#include "train/models/layers/text_layers.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using torch::Tensor;

namespace {

const ModelContext kPairs{{2, 7}, 30, true};
constexpr const char* kSmall =
    R"({"type": "transformer", "width": 16, "heads": 4, "layers": 2, "hidden": 24, "dropout": 0)";

std::string small(const std::string& more = "") { return kSmall + more + "}"; }

/// Returns one pair without its padding.
Tensor unpadded(const Tensor& pair) {
    const int64_t length = (pair != data::kPadToken).sum(1).max().item<int64_t>();
    return pair.slice(1, 0, length).unsqueeze(0);
}

}  // namespace

TEST_CASE("The Transformer has the published number of parameters") {
    const ModelContext context{{2, 50}, 37000, true};
    CHECK(count(R"({"type": "transformer"})", context) == 44138496 + 512 * 37000);
    // The last norms of the encoder and of the decoder are added.
    CHECK(count(R"({"type": "transformer", "norm": "pre"})", context) ==
          44138496 + 512 * 37000 + 2 * 2 * 512);
    CHECK_THAT(refusal(R"({"type": "transformer", "width": 20, "heads": 8})", context),
               ContainsSubstring("/model/heads"));
    CHECK_THAT(refusal(R"({"type": "transformer", "width": 15, "heads": 1})", context),
               ContainsSubstring("/model/width: 15 is odd"));
    CHECK_THAT(refusal(R"("transformer")", {{8}, 30, true}), ContainsSubstring("multi30k"));
    for (const char* other : {R"("gpt")", R"("lstm")"}) {
        CHECK_THAT(refusal(other, context), ContainsSubstring("the model transformer"));
    }
}

TEST_CASE("Padding changes nothing, and no position sees a later label") {
    for (const char* norm : {"", R"(, "norm": "pre")"}) {
        const auto model = make_model(small(norm), kPairs);
        const Weights weights = draw_weights(*model, torch::kFloat64, 3);
        const RandomBatch data(5, kPairs, model->order(), torch::kFloat64, 4);
        const torch::NoGradGuard no_grad;
        const Tensor together = model->forward(weights, data.inputs, false);
        REQUIRE(together.size(0) == data.batch.terms);
        int64_t first = 0;
        for (int64_t k = 0; k < 5; ++k) {
            const Tensor own = model->forward(weights, unpadded(data.inputs[k]), false);
            const Tensor there = together.slice(0, first, first + own.size(0));
            CHECK(torch::allclose(own, there, 1e-10, 1e-12));
            first += own.size(0);
            // Changing the last token of the target changes the last row only.
            Tensor changed = unpadded(data.inputs[k]).clone();
            const int64_t last = own.size(0) - 1;
            changed[0][1][last] = 3 + (changed[0][1][last].item<int64_t>() + 1) % 27;
            const Tensor other = model->forward(weights, changed, false);
            CHECK(torch::equal(other.slice(0, 0, last), own.slice(0, 0, last)));
            CHECK_FALSE(torch::allclose(other[last], own[last]));
            // Changing the source changes every row.
            changed = unpadded(data.inputs[k]).clone();
            changed[0][0][0] = 3 + (changed[0][0][0].item<int64_t>() + 1) % 27;
            const Tensor rows = (model->forward(weights, changed, false) - own).abs().amax(1);
            CHECK((rows > 1e-9).all().item<bool>());
        }
        CHECK(first == data.batch.terms);
    }
}

TEST_CASE("Positions are the published sines and cosines") {
    // All layers of this model add nothing: rows of logits are the normed input of the decoder.
    const ModelContext context{{2, 5}, 8, true};
    const auto model = make_model(
        R"({"type": "transformer", "width": 8, "heads": 1, "layers": 1, "hidden": 1, "norm": "pre"})",
        context);
    Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const torch::NoGradGuard no_grad;
    for (size_t k = 0; k < weights.parameters.size(); ++k) {
        const std::string& name = model->declaration().parameters[k].name;
        if (name.find("layers") != name.npos) weights.parameters[k].zero_();
        if (name == "embedding.weight") weights.parameters[k].copy_(torch::eye(8));
    }
    const Tensor tokens = torch::tensor({{{3, 2, 0}, {1, 4, 5}}}, torch::kInt64);
    const Tensor output = model->forward(weights, tokens, false);
    for (int64_t p = 0; p < 3; ++p) {
        Tensor x = torch::zeros({8}, torch::kFloat64);
        for (int64_t k = 0; k < 8; k += 2) {
            const double angle = static_cast<double>(p) / std::pow(10000, k / 8.0);
            x[k] = std::sin(angle);
            x[k + 1] = std::cos(angle);
        }
        x[tokens[0][1][p].item<int64_t>()] += std::sqrt(8.0);
        x = (x - x.mean()) / (x.var(false) + 1e-5).sqrt();
        CHECK(torch::allclose(output[p], x));
    }
}

TEST_CASE("A translation chooses the most likely token each time") {
    const auto model = make_model(small(), kPairs);
    const Weights weights = draw_weights(*model, torch::kFloat64, 5);
    const RandomBatch data(6, kPairs, model->order(), torch::kFloat64, 6);
    const torch::NoGradGuard no_grad;
    const auto found = model->translate(weights, data.inputs);
    REQUIRE(found.size() == 6);
    for (int64_t k = 0; k < 6; ++k) {
        const Tensor source = data.inputs[k][0];
        const int64_t limit = 2 * (source != data::kPadToken).sum().item<int64_t>() + 10;
        std::vector<int64_t> target = {data::kBeginToken}, expected;
        while (static_cast<int64_t>(expected.size()) < limit) {
            const auto length = std::max<int64_t>(7, static_cast<int64_t>(target.size()));
            Tensor pair = torch::zeros({1, 2, length}, torch::kInt64);
            pair[0][0].slice(0, 0, 7).copy_(source);
            pair[0][1]
                .slice(0, 0, static_cast<int64_t>(target.size()))
                .copy_(torch::tensor(target, torch::kInt64));
            // A target token equal to kPadToken would have no row, so [-1] is the last real
            // position.
            const auto next = model->forward(weights, pair, false)[-1].argmax().item<int64_t>();
            if (next == data::kEndToken || next == data::kPadToken) break;
            expected.push_back(next);
            target.push_back(next);
        }
        const auto& own = found[static_cast<size_t>(k)];
        REQUIRE(own.size() >= expected.size());
        CHECK(std::equal(expected.begin(), expected.end(), own.begin()));
        CHECK(static_cast<int64_t>(own.size()) <= limit);
    }
}

TEST_CASE("Gradients by parts of a batch equal those of the whole batch, to rounding") {
    struct Case {
        std::string model;
        ModelContext context;
    };
    for (const Case& each : {Case{small(), kPairs}, Case{R"("mlp")", {{12}, 4}},
                             Case{R"({"type": "gpt", "layers": 1, "heads": 2, "width": 8,
                                      "dropout": 0})",
                                  {{5}, 9, true}},
                             Case{R"("least_squares")", {{6}, 0}}}) {
        CAPTURE(each.model);
        const auto model = make_model(each.model, each.context);
        const RandomBatch data(7, each.context, model->order(), torch::kFloat64, 8);
        Replicas replicas(*model, {1, 1}, 0, arena::DType::float64, Init::same, 9);
        algorithms::Timers timers{arena::host_queue()};
        std::vector<Tensor> whole;
        double loss = 0, accuracy = 0;
        for (const int64_t parts : {1, 3, 7, 50}) {
            const double smoothing = each.context.classes > 0 ? 0.1 : 0;
            Executor executor(*model, replicas, {.microbatches = parts, .smoothing = smoothing});
            const auto score = executor.gradient(0, replicas.x(), 0, data.batch, timers);
            const auto gradients = views(replicas.layout(), replicas.g(), 0);
            if (parts == 1) {
                for (const Tensor& gradient : gradients) whole.push_back(gradient.clone());
                loss = score.loss;
                accuracy = score.accuracy;
            }
            for (size_t k = 0; k < whole.size(); ++k) {
                CHECK(torch::allclose(gradients[k], whole[k], 1e-9, 1e-12));
            }
            CHECK(score.loss == Approx(loss).epsilon(1e-12));
            if (each.context.classes > 0) CHECK(score.accuracy == Approx(accuracy));
        }
    }
}

TEST_CASE("Label smoothing mixes in all classes with equal weight") {
    const ModelContext context{{12}, 4};
    const auto model = make_model(R"("softmax_regression")", context);
    const Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const RandomBatch data(6, context, model->order(), torch::kFloat64, 2);
    const Tensor output = model->forward(weights, data.inputs, true);
    const Tensor log = torch::log_softmax(output, 1);
    const Tensor own = -log.gather(1, data.labels.unsqueeze(1)).mean(), all = -log.mean();
    for (const double e : {0.0, 0.1, 0.7}) {
        CHECK(model->loss(output, data.batch, e).item<double>() ==
              Approx(((1 - e) * own + e * all).item<double>()));
    }
}
