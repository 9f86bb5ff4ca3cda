#include <utility>

#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

/// Two 3x3 convolutions and a shortcut without parameters. If the shape changes, the shortcut is
/// the paper's option A: every second pixel, and new channels of zeros, half of them before and
/// half after the old ones.
class BasicBlock {
public:
    BasicBlock(Declaration& d, const std::string& name, int64_t in, int64_t out, double last)
        : added_(out - in),
          conv1_(d, name + ".conv1",
                 {.in = in, .out = out, .stride = in == out ? 1 : 2, .init = kHe}),
          bn1_(d, name + ".bn1", out),
          conv2_(d, name + ".conv2", {.in = out, .out = out, .init = kHe}),
          bn2_(d, name + ".bn2", out, last) {}

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        const torch::Tensor y = bn1_.relu(w, conv1_(w, x), training);
        return bn2_.relu(w, conv2_(w, y), training, shortcut(x));
    }

    static constexpr auto kHe = Conv2d::Init::fan_out;

private:
    torch::Tensor shortcut(const torch::Tensor& x) const {
        if (added_ == 0) return x;
        const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
        return torch::constant_pad_nd(half, {0, 0, 0, 0, added_ / 2, added_ / 2});
    }

    int64_t added_;
    Conv2d conv1_;
    BatchNorm2d bn1_;
    Conv2d conv2_;
    BatchNorm2d bn2_;
};

/// ResNet-(6n + 2) for small images (He et al. 2015, section 4.2): a convolution, three stages of n
/// blocks with 16, 32 and 64 channels, the mean over the image, a linear layer. ResNet-20, n = 3,
/// has 269,722 parameters in 59 tensors for 3 channels and 10 classes.
class SmallResNet : public Model {
public:
    SmallResNet(int64_t n, double last, const ModelContext& context)
        : conv1_(declaration_, "conv1",
                 {.in = context.input_shape[0], .out = 16, .init = BasicBlock::kHe}),
          bn1_(declaration_, "bn1", 16),
          blocks_(blocks(declaration_, n, last)),
          fc_(declaration_, "fc", 64, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = bn1_.relu(w, conv1_(w, input), training);         // (B, 16, H, W)
        for (const BasicBlock& block : blocks_) x = block(w, x, training);  // (B, 64, H/4, W/4)
        return fc_(w, global_average(x));                                   // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    static std::vector<BasicBlock> blocks(Declaration& declaration, int64_t n, double last) {
        std::vector<BasicBlock> all;
        int64_t in = 16;
        for (const int64_t stage : {1, 2, 3}) {
            const int64_t out = 8 << stage;
            for (int64_t block = 0; block < n; ++block) {
                const auto name = "layer" + std::to_string(stage) + "." + std::to_string(block);
                all.emplace_back(declaration, name, std::exchange(in, out), out, last);
            }
        }
        return all;
    }

    Conv2d conv1_;
    BatchNorm2d bn1_;
    std::vector<BasicBlock> blocks_;
    Linear fc_;
};

template <int depth>
ModelPtr make_small_resnet(const ResidualSpec& spec, const ModelContext& context) {
    const std::string name = "resnet" + std::to_string(depth);
    require_classes(name.c_str(), context);
    require_images(name.c_str(), context, 8);
    return std::make_unique<SmallResNet>((depth - 2) / 6, spec.last_norm_weight(), context);
}

template <int depth>
ModelEntry small_resnet() {
    const std::string number = std::to_string(depth);
    return {"resnet" + number,
            "ResNet-" + number + " for small images (He et al. 2015), shortcuts without parameters",
            make_small_resnet<depth>};
}

}  // namespace

ModelEntry resnet20_model() { return small_resnet<20>(); }
ModelEntry resnet32_model() { return small_resnet<32>(); }
ModelEntry resnet56_model() { return small_resnet<56>(); }
ModelEntry resnet110_model() { return small_resnet<110>(); }

}  // namespace dbench::train
