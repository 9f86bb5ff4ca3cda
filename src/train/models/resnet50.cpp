#include <optional>
#include <utility>

#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

/// Convolutions 1x1, 3x3 and 1x1, the last one to four times the width, and a shortcut, which is a
/// 1x1 convolution if the shape changes. The 3x3 convolution has the stride ("v1.5"; in the paper
/// the first 1x1 has it).
class Bottleneck {
public:
    static constexpr int64_t kExpansion = 4;
    static constexpr auto kHe = Conv2d::Init::fan_out;

    Bottleneck(Declaration& d, const std::string& name, int64_t in, int64_t width, int64_t stride,
               double last)
        : conv1_(d, name + ".conv1", {.in = in, .out = width, .kernel = 1, .init = kHe}),
          bn1_(d, name + ".bn1", width),
          conv2_(d, name + ".conv2", {.in = width, .out = width, .stride = stride, .init = kHe}),
          bn2_(d, name + ".bn2", width),
          conv3_(d, name + ".conv3",
                 {.in = width, .out = kExpansion * width, .kernel = 1, .init = kHe}),
          bn3_(d, name + ".bn3", kExpansion * width, last) {
        if (in == kExpansion * width) return;
        down_.emplace(
            d, name + ".downsample.0",
            Conv2d::Options{
                .in = in, .out = kExpansion * width, .kernel = 1, .stride = stride, .init = kHe});
        down_bn_.emplace(d, name + ".downsample.1", kExpansion * width);
    }

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        torch::Tensor y = bn1_.relu(w, conv1_(w, x), training);
        y = bn2_.relu(w, conv2_(w, y), training);
        const torch::Tensor shortcut = down_ ? (*down_bn_)(w, (*down_)(w, x), training) : x;
        return bn3_.relu(w, conv3_(w, y), training, shortcut);
    }

private:
    Conv2d conv1_;
    BatchNorm2d bn1_;
    Conv2d conv2_;
    BatchNorm2d bn2_;
    Conv2d conv3_;
    BatchNorm2d bn3_;
    std::optional<Conv2d> down_;
    std::optional<BatchNorm2d> down_bn_;
};

/// ResNet-50 (He et al. 2015, table 1): a 7x7 convolution and max pooling, both with stride 2,
/// stages of 3, 4, 6 and 3 blocks, the mean over the image, a linear layer. Names and initial
/// values are those of torchvision. With 64 channels in the first stage it has 25,557,032
/// parameters for 3 channels and 1000 classes.
class ResNet50 : public Model {
public:
    ResNet50(int64_t width, double last, const ModelContext& context)
        : conv1_(declaration_, "conv1",
                 {.in = context.input_shape[0],
                  .out = width,
                  .kernel = 7,
                  .stride = 2,
                  .init = Bottleneck::kHe}),
          bn1_(declaration_, "bn1", width),
          blocks_(blocks(declaration_, width, last)),
          fc_(declaration_, "fc", 32 * width, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = bn1_.relu(w, conv1_(w, input), training);  // (B, width, H/2, W/2)
        x = torch::max_pool2d(x, 3, 2, 1);                           // (B, width, H/4, W/4)
        for (const Bottleneck& block : blocks_)
            x = block(w, x, training);     // (B, 32 width, H/32, W/32)
        return fc_(w, global_average(x));  // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    static std::vector<Bottleneck> blocks(Declaration& declaration, int64_t first, double last) {
        std::vector<Bottleneck> all;
        int64_t in = first, stage = 0;
        for (const int64_t count : {3, 4, 6, 3}) {
            const int64_t width = first << stage++;
            for (int64_t block = 0; block < count; ++block) {
                all.emplace_back(declaration,
                                 "layer" + std::to_string(stage) + "." + std::to_string(block),
                                 std::exchange(in, Bottleneck::kExpansion * width), width,
                                 block == 0 && stage > 1 ? 2 : 1, last);
            }
        }
        return all;
    }

    Conv2d conv1_;
    BatchNorm2d bn1_;
    std::vector<Bottleneck> blocks_;
    Linear fc_;
};

struct ResNet50Spec : ResidualSpec {
    int64_t width;  ///< Channels of the first stage.

    static const base::Section<ResNet50Spec>& section();
};

const base::Section<ResNet50Spec>& ResNet50Spec::section() {
    static const base::Section<ResNet50Spec> keys{
        {{base::Parameter::integer("width", "64", "channels of the first stage")
              .at_least(1)
              .at_most(1024),
          &ResNet50Spec::width}},
        ResidualSpec::section()};
    return keys;
}

ModelPtr make_resnet50(const ResNet50Spec& spec, const ModelContext& context) {
    require_classes("resnet50", context);
    require_images("resnet50", context, 32);
    return std::make_unique<ResNet50>(spec.width, spec.last_norm_weight(), context);
}

}  // namespace

ModelEntry resnet50_model() {
    return {"resnet50",
            "ResNet-50 v1.5 (He et al. 2015; stride in the 3x3 convolutions); images of at least "
            "32x32",
            make_resnet50};
}

}  // namespace dbench::train
