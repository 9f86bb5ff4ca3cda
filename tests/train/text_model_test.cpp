// Models for texts compared with their definitions written in elementary operations, and the state
// that they carry from batch to batch.

#include <cmath>

#include "base/error.hpp"
#include "catch.hpp"
#include "data/token_set.hpp"
#include "model_fixture.hpp"
#include "train/models/layers/text_layers.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;
using Catch::Matchers::ContainsSubstring;
using torch::Tensor;

namespace {

const ModelContext kText{{4}, 9, true};

/// Finds a model's tensors by name.
class Named {
public:
    Named(const Model& model, const Weights& weights) : model_(model), weights_(weights) {}
    const Tensor& operator()(const std::string& name) const {
        const auto& all = model_.declaration().parameters;
        for (size_t k = 0; k < all.size(); ++k) {
            if (all[k].name == name) return weights_.parameters[k];
        }
        throw std::logic_error(name);
    }
    Tensor linear(const Tensor& x, const std::string& name) const {
        return x.matmul((*this)(name + ".weight").t()) + (*this)(name + ".bias");
    }
    Tensor norm(const Tensor& x, const std::string& name) const {
        const Tensor centred = x - x.mean(-1, true);
        return centred / (centred.square().mean(-1, true) + 1e-5).sqrt() *
                   (*this)(name + ".weight") +
               (*this)(name + ".bias");
    }

private:
    const Model& model_;
    const Weights& weights_;
};

/// Computes a layer of Hochreiter and Schmidhuber's LSTM with forget gates, token by token; x (B,
/// T, in).
Tensor lstm_layer(const Named& w, const std::string& layer, const Tensor& x) {
    const int64_t width = w("rnn.weight_hh_" + layer).size(1);
    Tensor h = x.new_zeros({x.size(0), width}), c = h;
    std::vector<Tensor> all;
    for (int64_t t = 0; t < x.size(1); ++t) {
        const Tensor gates = x.select(1, t).matmul(w("rnn.weight_ih_" + layer).t()) +
                             w("rnn.bias_ih_" + layer) + h.matmul(w("rnn.weight_hh_" + layer).t()) +
                             w("rnn.bias_hh_" + layer);
        const auto part = gates.chunk(4, 1);  // input, forget, cell, output
        c = part[1].sigmoid() * c + part[0].sigmoid() * part[2].tanh();
        h = part[3].sigmoid() * c.tanh();
        all.push_back(h);
    }
    return torch::stack(all, 1);
}

Tensor lstm_by_hand(const Named& w, const Tensor& tokens, bool tied) {
    Tensor x = w("encoder.weight").index_select(0, tokens.flatten());
    x = x.reshape({tokens.size(0), tokens.size(1), -1});
    for (const char* layer : {"l0", "l1"}) x = lstm_layer(w, layer, x);
    const std::string last = tied ? "encoder.weight" : "decoder.weight";
    return x.flatten(0, 1).matmul(w(last).t()) + w("decoder.bias");
}

/// Computes the causal attention of each head from its formula and concatenates the heads' results;
/// x (B, T, W).
Tensor attention_by_hand(const Named& w, const std::string& name, const Tensor& x, int64_t heads) {
    const int64_t length = x.size(1), part = x.size(2) / heads;
    const auto qkv = w.linear(x, name + ".c_attn").split(x.size(2), 2);
    const Tensor later = torch::ones({length, length}, torch::kBool).triu(1);
    std::vector<Tensor> seen;
    for (int64_t head = 0; head < heads; ++head) {
        const auto of = [&](int k) { return qkv[k].narrow(2, head * part, part); };
        const Tensor scores = of(0).matmul(of(1).transpose(1, 2)) / std::sqrt(double(part));
        seen.push_back(scores.masked_fill(later, -INFINITY).softmax(2).matmul(of(2)));
    }
    return w.linear(torch::cat(seen, 2), name + ".c_proj");
}

Tensor gpt_by_hand(const Named& w, const Tensor& tokens, int64_t layers, int64_t heads) {
    Tensor x = w("wte.weight").index_select(0, tokens.flatten());
    x = x.reshape({tokens.size(0), tokens.size(1), -1}) +
        w("wpe.weight").narrow(0, 0, tokens.size(1));
    for (int64_t k = 0; k < layers; ++k) {
        const std::string block = "h." + std::to_string(k);
        x = x + attention_by_hand(w, block + ".attn", w.norm(x, block + ".ln_1"), heads);
        const Tensor u = w.linear(w.norm(x, block + ".ln_2"), block + ".mlp.c_fc");
        const Tensor gelu =
            0.5 * u * (1 + (std::sqrt(2 / M_PI) * (u + 0.044715 * u.pow(3))).tanh());
        x = x + w.linear(gelu, block + ".mlp.c_proj");
    }
    return w.norm(x, "ln_f").flatten(0, 1).matmul(w("wte.weight").t());
}

/// Checks that outputs and gradients of the loss are those of the formula.
void compare_text_model(const std::string& spec,
                        const std::function<Tensor(const Named&, const Tensor&)>& hand) {
    CAPTURE(spec);
    const auto model = make_model(spec, kText);
    const Weights ours = draw_weights(*model, torch::kFloat64, 1),
                  theirs = draw_weights(*model, torch::kFloat64, 1);
    const RandomBatch data(3, kText, model->order(), torch::kFloat64, 2);
    const Tensor output = model->forward(ours, input_tensor(data.batch), true);
    const Tensor expected = hand(Named(*model, theirs), data.inputs);
    REQUIRE(output.sizes() == torch::IntArrayRef({12, 9}));
    CHECK(torch::allclose(output, expected, 1e-10, 1e-12));
    model->loss(output, data.batch).backward();
    // The mean over tokens, each with its own label.
    (-expected.log_softmax(1).gather(1, data.labels.reshape({12, 1})).mean()).backward();
    for (size_t k = 0; k < ours.parameters.size(); ++k) {
        CAPTURE(model->declaration().parameters[k].name);
        CHECK(theirs.parameters[k].grad().abs().max().item<double>() > 1e-6);
        CHECK(torch::allclose(ours.parameters[k].grad(), theirs.parameters[k].grad(), 1e-8, 1e-12));
    }
}

/// Two replicas that train on a text each, with 3 windows of 4 tokens in an epoch.
struct TextFixture {
    std::shared_ptr<const data::Dataset> set;
    std::shared_ptr<data::Partition> partition;
    data::BatchPlan plan;
    std::unique_ptr<Model> model;
    Replicas replicas;
    Executor executor;
    algorithms::Timers timers{arena::host_queue()};

    explicit TextFixture(const std::string& spec, const char* dealt = "stream", uint64_t seed = 1)
        : set(data::token_set(text(), 9, 4, "x")),
          partition(base::find_entry(data::partition_table(), dealt)->make({}, *set, {2, 1})),
          plan(data::plan_batches({data::BatchSize::Unit::replica, 2}, *partition, 2, set->size())),
          model(make_model(spec, {{4}, 9, true, plan.stream ? 2 : 0})),
          replicas(*model, {2, 1}, 0, arena::DType::float64, Init::same, 1),
          executor(*model, replicas, PassOptions{seed}) {}

    static std::vector<int32_t> text() {
        std::vector<int32_t> tokens;
        for (int32_t k = 0; k < 12 * 4 + 1; ++k) tokens.push_back((k * k + k / 5) % 9);
        return tokens;
    }
    /// Returns losses (iterations, replicas) at unchanged parameters.
    Tensor losses(int64_t iterations) {
        data::Loader::Options options;
        options.last_iteration = iterations;
        options.end = 2;
        options.type = arena::DType::float64;
        data::Loader loader(set, partition, plan, options);
        Tensor out = torch::zeros({iterations, 2}, torch::kFloat64);
        double accuracy[2];
        for (int64_t t = 0; t < iterations; ++t) {
            timers.start();
            executor.gradients(
                t, replicas.x(), loader, timers, [](arena::Columns) {}, out[t].data_ptr<double>(),
                accuracy);
        }
        return out;
    }
};

}  // namespace

TEST_CASE("Models for texts have the published numbers of parameters") {
    const ModelContext wikitext{{35}, 33278, true}, gpt2{{1024}, 50257, true};
    CHECK(count(R"({"type": "lstm", "tied": true})", wikitext) == 28434378);
    CHECK(count(R"("lstm")", wikitext) == 50065078);
    CHECK(count(R"("gpt")", gpt2) == 124439808);
    CHECK(count(R"({"type": "gpt", "layers": 24, "heads": 16, "width": 1024})", gpt2) == 354823168);
}

TEST_CASE("The LSTM equals its definition") {
    for (const bool tied : {false, true}) {
        compare_text_model(
            std::string(R"({"type": "lstm", "hidden": 5, "dropout": 0, "tied": )") +
                (tied ? "true}" : "false}"),
            [&](const Named& w, const Tensor& x) { return lstm_by_hand(w, x, tied); });
    }
}

TEST_CASE("GPT equals its definition") {
    compare_text_model(
        R"({"type": "gpt", "layers": 2, "heads": 3, "width": 6, "context": 5, "dropout": 0})",
        [](const Named& w, const Tensor& x) { return gpt_by_hand(w, x, 2, 3); });
}

TEST_CASE("Tensors have PyTorch's names") {
    const auto names = [](const std::string& spec) {
        std::string all;
        const auto model = make_model(spec, kText);
        for (const auto& each : model->declaration().parameters) {
            all += each.name + " ";
        }
        return all;
    };
    CHECK(names(R"({"type": "lstm", "layers": 1})") ==
          "encoder.weight rnn.weight_ih_l0 rnn.weight_hh_l0 rnn.bias_ih_l0 rnn.bias_hh_l0 "
          "decoder.weight decoder.bias ");
    CHECK(names(R"({"type": "gpt", "layers": 1})") ==
          "wte.weight wpe.weight h.0.ln_1.weight h.0.ln_1.bias h.0.attn.c_attn.weight "
          "h.0.attn.c_attn.bias h.0.attn.c_proj.weight h.0.attn.c_proj.bias h.0.ln_2.weight "
          "h.0.ln_2.bias h.0.mlp.c_fc.weight h.0.mlp.c_fc.bias h.0.mlp.c_proj.weight "
          "h.0.mlp.c_proj.bias ln_f.weight ln_f.bias ");
}

TEST_CASE("A stream carries state through an epoch, and the next epoch starts from zero") {
    const std::string spec = R"({"type": "lstm", "hidden": 5, "dropout": 0})";
    TextFixture readers(spec);
    REQUIRE(readers.plan.per_epoch == 3);
    const Tensor losses = readers.losses(6);

    // Read the text in one piece, in windows of 12 tokens.
    const auto whole = data::token_set(TextFixture::text(), 9, 12, "x");
    data::PlainBatches batches(arena::DType::float64, data::Order::contiguous);
    const Weights weights{views(readers.replicas.layout(), readers.replicas.x(), 0), {}};
    for (int64_t replica = 0; replica < 2; ++replica) {
        const data::Batch& batch = batches.fill(*whole, 2 * replica, 2);
        const Tensor output = readers.model->forward(weights, input_tensor(batch), false);
        const Tensor labels =
            torch::tensor(std::vector<int64_t>(batch.labels, batch.labels + batch.terms));
        const Tensor nll = -output.log_softmax(1).gather(1, labels.unsqueeze(1)).reshape({2, 3, 4});
        for (int64_t t = 0; t < 6; ++t) {
            CAPTURE(replica, t);
            const double expected = nll.select(1, t % 3).mean().item<double>();
            CHECK(losses[t][replica].item<double>() == Catch::Approx(expected).epsilon(1e-12));
        }
    }
    // Other partitions carry no state and allocate no memory for it.
    TextFixture shuffled(spec, "contiguous");
    CHECK(shuffled.replicas.carried_layout().columns() == 0);
    CHECK(readers.replicas.carried_layout().numel() == 2 * 2 * 2 * 5);
    CHECK_FALSE(torch::allclose(losses[1], shuffled.losses(2)[1]));
}

TEST_CASE("LSTM layers one after another drop the same units as LibTorch's stack, to the bit") {
    Declaration declaration;
    const Lstm::Options options{.in = 3, .hidden = 5, .layers = 3, .dropout = 0.4};
    const Lstm lstm(declaration, "lstm", options);
    const auto real = torch::TensorOptions(torch::kFloat64);
    torch::manual_seed(1);
    Weights weights;
    for (const ParameterInfo& each : declaration.parameters) {
        weights.parameters.push_back(torch::randn(each.shape, real));
    }
    const Tensor x = torch::randn({2, 7, 3}, real);
    for (const bool training : {false, true}) {
        CAPTURE(training);
        torch::manual_seed(2);
        const Tensor found = lstm(weights, x, training);
        torch::manual_seed(2);
        const Tensor zero = torch::zeros({options.layers, 2, options.hidden}, real);
        const auto [expected, hidden, cell] =
            torch::lstm(x, {zero, zero}, weights.parameters, true, options.layers, options.dropout,
                        training, false, /*batch_first=*/true);
        CHECK(torch::equal(found, expected));
    }
}

TEST_CASE("Dropout depends on seed, replica and iteration alone") {
    for (const char* spec : {R"({"type": "lstm", "hidden": 5, "dropout": 0.5})",
                             R"({"type": "gpt", "layers": 1, "heads": 1, "width": 8,
                                 "dropout": 0.5})"}) {
        CAPTURE(spec);
        TextFixture readers(spec, "contiguous");
        const Tensor losses = readers.losses(6);
        CHECK(torch::equal(readers.losses(6), losses));
        // The batches of an epoch come again in the next epoch; without dropout so would the
        // losses.
        CHECK_FALSE(torch::allclose(losses.slice(0, 0, 3), losses.slice(0, 3, 6)));
        TextFixture other(spec, "contiguous", 2);
        CHECK_FALSE(torch::allclose(other.losses(1), losses.slice(0, 0, 1)));

        Replicas second(*readers.model, {2, 2}, 1, arena::DType::float64, Init::same, 1);
        Executor executor(*readers.model, second, PassOptions{1});
        data::Loader::Options options;
        options.last_iteration = 1;
        options.begin = 1;
        options.end = 2;
        options.type = arena::DType::float64;
        data::Loader loader(readers.set, readers.partition, readers.plan, options);
        double loss = 0, accuracy = 0;
        readers.timers.start();
        executor.gradients(
            0, second.x(), loader, readers.timers, [](arena::Columns) {}, &loss, &accuracy);
        CHECK(loss == losses[0][1].item<double>());
    }
}

TEST_CASE("Models for texts and for numbers refuse each other's data") {
    CHECK_THAT(refusal(R"("lstm")", {{3, 32, 32}, 10}), ContainsSubstring("wikitext2"));
    CHECK_THAT(refusal(R"("gpt")", {{784}, 10}), ContainsSubstring("not tokens"));
    for (const char* spec : {R"("mlp")", R"("cnn")", R"("resnet20")", R"("softmax_regression")"}) {
        CHECK_THAT(refusal(spec, kText), ContainsSubstring("use the model lstm or gpt"));
    }
    CHECK_THAT(refusal(R"({"type": "gpt", "heads": 5})", kText), ContainsSubstring("/model/heads"));
    CHECK_THAT(refusal(R"({"type": "gpt", "context": 3})", kText),
               ContainsSubstring("/model/context: 3 positions are less than the 4"));
}
