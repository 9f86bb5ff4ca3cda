#include <optional>
#include <utility>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

/// Twice BatchNorm, ReLU and a 3x3 convolution, with dropout between, and a shortcut. If the number
/// of channels changes, the shortcut is a 1x1 convolution of the first ReLU's output.
class WideBlock {
public:
    static constexpr auto kHe = Conv2d::Init::fan_out;

    WideBlock(Declaration& d, const std::string& name, int64_t in, int64_t out, int64_t stride,
              double dropout)
        : bn1_(d, name + ".bn1", in),
          conv1_(d, name + ".conv1", {.in = in, .out = out, .stride = stride, .init = kHe}),
          bn2_(d, name + ".bn2", out),
          dropout_(d, dropout),
          conv2_(d, name + ".conv2", {.in = out, .out = out, .init = kHe}) {
        if (in == out) return;
        shortcut_.emplace(
            d, name + ".shortcut",
            Conv2d::Options{.in = in, .out = out, .kernel = 1, .stride = stride, .init = kHe});
    }

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        const torch::Tensor active = bn1_.relu(w, x, training);
        const torch::Tensor y = dropout_(bn2_.relu(w, conv1_(w, active), training), training);
        return conv2_(w, y) + (shortcut_ ? (*shortcut_)(w, active) : x);
    }

private:
    BatchNorm2d bn1_;
    Conv2d conv1_;
    BatchNorm2d bn2_;
    Dropout dropout_;
    Conv2d conv2_;
    std::optional<Conv2d> shortcut_;
};

struct WideSpec {
    int64_t depth;  ///< Layers, 6 n + 4.
    int64_t widen;  ///< Factor by which it is wider than a ResNet.
    double dropout;

    static const base::Section<WideSpec>& section();
};

const base::Section<WideSpec>& WideSpec::section() {
    static const base::Section<WideSpec> keys{
        {base::Parameter::integer("depth", "28", "layers, 6 n + 4").at_least(10).at_most(1000),
         &WideSpec::depth},
        {base::Parameter::integer("widen", "10", "factor by which it is wider than a ResNet")
             .at_least(1)
             .at_most(64),
         &WideSpec::widen},
        {dropout_parameter("0"), &WideSpec::dropout},
    };
    return keys;
}

/// WRN-depth-widen (Zagoruyko and Komodakis 2016): a convolution with 16 channels, three stages of
/// (depth - 4) / 6 blocks with 16, 32 and 64 times `widen` channels, BatchNorm and ReLU, the mean
/// over the image, a linear layer. WRN-28-10 has 36,479,194 parameters for 3 channels and 10
/// classes.
class WideResNet : public Model {
public:
    WideResNet(const WideSpec& spec, const ModelContext& context)
        : widen_(spec.widen),
          conv1_(declaration_, "conv1",
                 {.in = context.input_shape[0], .out = 16, .init = WideBlock::kHe}),
          blocks_(blocks(declaration_, (spec.depth - 4) / 6, widen_, spec.dropout)),
          bn_(declaration_, "bn", 64 * widen_),
          fc_(declaration_, "fc", 64 * widen_, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = conv1_(w, input);  // (B, 16, H, W)
        for (const WideBlock& block : blocks_)
            x = block(w, x, training);                            // (B, 64 widen, H/4, W/4)
        return fc_(w, global_average(bn_.relu(w, x, training)));  // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    static std::vector<WideBlock> blocks(Declaration& declaration, int64_t count, int64_t widen,
                                         double dropout) {
        std::vector<WideBlock> all;
        int64_t in = 16;
        for (const int64_t stage : {1, 2, 3}) {
            const int64_t out = (8 << stage) * widen;
            for (int64_t block = 0; block < count; ++block) {
                all.emplace_back(
                    declaration, "layer" + std::to_string(stage) + "." + std::to_string(block),
                    std::exchange(in, out), out, block == 0 && stage > 1 ? 2 : 1, dropout);
            }
        }
        return all;
    }

    int64_t widen_;
    Conv2d conv1_;
    std::vector<WideBlock> blocks_;
    BatchNorm2d bn_;
    Linear fc_;
};

ModelPtr make_wide_resnet(const WideSpec& spec, const ModelContext& context) {
    const int64_t depth = spec.depth;
    if (depth % 6 != 4) {
        throw base::UserError("/model/depth: wide_resnet needs 6 n + 4 layers (found " +
                              std::to_string(depth) + "): use " +
                              std::to_string((depth - 1) / 6 * 6 + 4) + " (common are 28 and 40)");
    }
    require_classes("wide_resnet", context);
    require_images("wide_resnet", context, 8);
    return std::make_unique<WideResNet>(spec, context);
}

}  // namespace

ModelEntry wide_resnet_model() {
    return {"wide_resnet", "wide ResNet for small images (Zagoruyko and Komodakis 2016)",
            make_wide_resnet};
}

}  // namespace dbench::train
