// The parameters, names and kinds that each model declares, and the data that it refuses.

#include "model_fixture.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace dbench;
using namespace dbench::train;
using arena::TensorKind;
using Catch::Matchers::ContainsSubstring;

namespace {

const ModelContext kColour{{3, 32, 32}, 10}, kGrey{{1, 28, 28}, 10}, kReal{{50}, 0};

std::vector<std::string> names(const Declaration& declaration) {
    std::vector<std::string> out;
    for (const auto& each : declaration.parameters) out.push_back(each.name);
    return out;
}

}  // namespace

TEST_CASE("Models have the published numbers of parameters") {
    CHECK(count(R"("softmax_regression")", kColour) == 3072 * 10 + 10);
    CHECK(count(R"("softmax_regression")", {{784}, 3}) == 784 * 3 + 3);
    CHECK(count(R"("least_squares")", kReal) == 50);
    CHECK(count(R"({"type": "mlp", "hidden": [20, 30]})", kGrey) ==
          784 * 20 + 20 + 20 * 30 + 30 + 30 * 10 + 10);
    CHECK(count(R"({"type": "mlp", "hidden": []})", kGrey) == 784 * 10 + 10);
    CHECK(count(R"("cnn")", kColour) ==
          9 * (3 * 16 + 16 * 32 + 32 * 64) + 2 * (16 + 32 + 64) + 64 * 10 + 10);
    CHECK(count(R"("resnet20")", kColour) == 269722);
    CHECK(count(R"("resnet20")", kGrey) == 269722 - 2 * 16 * 9);
    // n more blocks per stage add 2 n convolutions and 2 n BatchNorms of the stage's width.
    const auto blocks = [](int64_t more) {
        return more * (2 * 9 * (16 * 16 + 32 * 32 + 64 * 64) + 4 * (16 + 32 + 64));
    };
    CHECK(count(R"("resnet32")", kColour) == 269722 + blocks(2));
    CHECK(count(R"("resnet56")", kColour) == 269722 + blocks(6));
    CHECK(count(R"("resnet110")", kColour) == 269722 + blocks(15));
    // Published: 0.46 M, 0.85 M, 1.7 M (He et al. 2015, table 6).
    CHECK(std::lround(double(count(R"("resnet32")", kColour)) / 1e4) == 46);
    CHECK(std::lround(double(count(R"("resnet110")", kColour)) / 1e5) == 17);
    const ModelContext photographs{{3, 224, 224}, 1000};
    CHECK(count(R"("resnet50")", photographs) == 25557032);
    CHECK(count(R"("densenet")", kColour) == 769162);
    CHECK(count(R"("lenet")", kColour) == 62006);
    CHECK(count(R"({"type": "lenet", "norm": "group"})", kColour) == 62006 + 2 * (6 + 16));
    CHECK(count(R"("lenet")", kGrey) == 62006 - 2 * 6 * 25 - (25 - 16) * 16 * 120);
    // The weights and biases of the convolutions, and of three linear layers or of one.
    const int64_t convolutions =
        9 * (3 * 64 + 64 * 128 + 128 * 256 + 256 * 256 + 256 * 512 + 3 * 512 * 512) + 64 + 128 +
        2 * 256 + 4 * 512;
    CHECK(count(R"("vgg11")", kColour) == convolutions + 2 * (512 * 512 + 512) + 512 * 10 + 10);
    CHECK(count(R"({"type": "vgg11", "norm": "group"})", kColour) ==
          convolutions + 2 * (64 + 128 + 2 * 256 + 4 * 512) + 512 * 10 + 10);
    // Published: 36.5 M and 8.9 M (Zagoruyko and Komodakis 2016); 1.0 M (Huang et al. 2017).
    CHECK(count(R"("wide_resnet")", kColour) == 36479194);
    CHECK(
        std::lround(double(count(R"({"type": "wide_resnet", "depth": 40, "widen": 4})", kColour)) /
                    1e5) == 89);
    CHECK(std::lround(double(count(R"({"type": "densenet", "depth": 40, "bottleneck": false,
                                       "compression": 1})",
                                   kColour)) /
                      1e5) == 10);
}

TEST_CASE("resnet20 declares its tensors in the order of the module") {
    const auto model = make_model(R"("resnet20")", kColour);
    const auto& parameters = model->declaration().parameters;
    const auto found = names(model->declaration());
    REQUIRE(found.size() == 59);
    const std::vector<std::string> head = {
        "conv1.weight",          "bn1.weight",          "bn1.bias",
        "layer1.0.conv1.weight", "layer1.0.bn1.weight", "layer1.0.bn1.bias",
        "layer1.0.conv2.weight", "layer1.0.bn2.weight", "layer1.0.bn2.bias",
        "layer1.1.conv1.weight"};
    CHECK(std::vector<std::string>(found.begin(), found.begin() + 10) == head);
    CHECK(found[57] == "fc.weight");
    CHECK(found[58] == "fc.bias");
    CHECK(parameters[0].kind == TensorKind::weight);
    CHECK(parameters[1].kind == TensorKind::norm);
    CHECK(parameters[2].kind == TensorKind::norm);
    CHECK(parameters[58].kind == TensorKind::bias);
    CHECK(parameters[21].name == "layer2.0.conv1.weight");
    CHECK(parameters[21].shape == (std::vector<int64_t>{32, 16, 3, 3}));

    const auto& buffers = model->declaration().buffers;
    REQUIRE(buffers.size() == 38);
    CHECK(buffers[0].name == "bn1.running_mean");
    CHECK(buffers[1].name == "bn1.running_var");
    CHECK_FALSE(buffers[0].variance);
    CHECK(buffers[1].variance);
    CHECK(buffers[1].initial == 1);
}

TEST_CASE("Initial distributions are PyTorch's") {
    const auto model = make_model(R"("resnet20")", kColour);
    const Weights weights = draw_weights(*model, torch::kFloat64, 1);
    const auto deviation = [&](int k) {
        return weights.parameters[k].detach().std(false).item<double>();
    };
    // layer3.2.conv2 has 36,864 elements: its deviation is known to 2 % in more than 5 sigma.
    CHECK(deviation(54) == Catch::Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.02));
    CHECK(weights.parameters[57].detach().abs().max().item<double>() <= 1.0 / 8);
    CHECK(deviation(57) == Catch::Approx(1.0 / 8 / std::sqrt(3)).epsilon(0.1));
    CHECK(weights.parameters[1].detach().eq(1).all().item<bool>());
    CHECK(weights.parameters[2].detach().eq(0).all().item<bool>());
}

TEST_CASE("zero_init makes every residual block start as its shortcut") {
    for (const char* name : {"resnet20", "resnet50"}) {
        const std::string spec = R"({"type": ")" + std::string(name) + R"(", "zero_init": true})";
        const auto model = make_model(spec, kColour);
        const Weights weights = draw_weights(*model, torch::kFloat64, 1);
        const auto& declared = model->declaration().parameters;
        const std::string last = std::string(name) == "resnet20" ? ".bn2.weight" : ".bn3.weight";
        int64_t zeros = 0;
        for (size_t k = 0; k < declared.size(); ++k) {
            if (declared[k].kind != TensorKind::norm || !declared[k].name.ends_with("weight")) {
                continue;
            }
            const bool of_a_block = declared[k].name.ends_with(last);
            CHECK(weights.parameters[k].detach().eq(of_a_block ? 0 : 1).all().item<bool>());
            zeros += of_a_block;
        }
        CHECK(zeros == (std::string(name) == "resnet20" ? 9 : 16));
    }
}

TEST_CASE("Models refuse unsuitable data with a remedy") {
    CHECK_THAT(refusal(R"("mlp")", kReal), ContainsSubstring("least_squares"));
    CHECK_THAT(refusal(R"("resnet20")", kReal), ContainsSubstring("least_squares"));
    CHECK_THAT(refusal(R"("least_squares")", kColour), ContainsSubstring("regression"));
    CHECK_THAT(refusal(R"("cnn")", {{784}, 10}), ContainsSubstring("channels x height x width"));
    CHECK_THAT(refusal(R"("resnet20")", {{3, 4, 32}, 10}), ContainsSubstring("at least 8x8"));
    CHECK_THAT(refusal(R"({"type": "mlp", "hidden": [20, 7.5]})", kGrey),
               ContainsSubstring("/model/hidden/1"));
    CHECK_THAT(refusal(R"({"type": "mlp", "hidden": [0]})", kGrey),
               ContainsSubstring("/model/hidden/0"));
    CHECK_THAT(refusal(R"("lenet")", {{3, 15, 32}, 10}), ContainsSubstring("at least 16x16"));
    CHECK_THAT(refusal(R"({"type": "vgg11", "width": 12})", kColour),
               ContainsSubstring("not a multiple of 8") && ContainsSubstring("use 16"));
    CHECK_THAT(refusal(R"("vgg11")", {{3, 64, 32}, 10}), ContainsSubstring("32 to 63 pixels"));
    CHECK_THAT(refusal(R"({"type": "vgg11", "norm": "group", "dropout": 0.2})", kColour),
               ContainsSubstring("/model/dropout") && ContainsSubstring("has no dropout"));
    for (const char* dropout : {"0", "0.5"}) {  // none, and the default of a resolved spec
        CHECK(refusal(
                  R"({"type": "vgg11", "norm": "group", "dropout": )" + std::string(dropout) + "}",
                  kColour) == "accepted");
    }
    CHECK_THAT(refusal(R"({"type": "cnn", "width": 0})", kGrey), ContainsSubstring("/model/width"));
    CHECK_THAT(refusal(R"("resnet21")", kColour), ContainsSubstring("resnet20"));
    CHECK_THAT(refusal(R"("resnet50")", kGrey), ContainsSubstring("at least 32x32"));
    CHECK_THAT(refusal(R"({"type": "wide_resnet", "depth": 30})", kColour),
               ContainsSubstring("/model/depth") && ContainsSubstring("use 28"));
    CHECK_THAT(refusal(R"({"type": "densenet", "depth": 39})", kColour),
               ContainsSubstring("/model/depth") && ContainsSubstring("use 34"));
    CHECK_THAT(refusal(R"({"type": "densenet", "compression": 1.5})", kColour),
               ContainsSubstring("/model/compression"));
}
