#include <nlohmann/json.hpp>

#include "train/models/layers.hpp"
#include "train/models/zoo.hpp"

namespace dbench::train {
namespace {

/// Two 3x3 convolutions and a shortcut. Where the shape changes the shortcut is option A of the
/// paper: every second pixel, and zeros for the channels that are new, half of them before and half
/// after the old ones; it has no parameters.
class Block {
public:
    Block(Declaration& d, const std::string& name, int64_t in, int64_t out)
        : added_(out - in),
          conv1_(d, name + ".conv1", in, out, in == out ? 1 : 2, Conv3x3::Init::fan_out),
          bn1_(d, name + ".bn1", out),
          conv2_(d, name + ".conv2", out, out, 1, Conv3x3::Init::fan_out),
          bn2_(d, name + ".bn2", out) {}

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        const torch::Tensor y = bn1_.relu(w, conv1_(w, x), training);
        return bn2_.relu(w, conv2_(w, y), training, shortcut(x));
    }

private:
    torch::Tensor shortcut(const torch::Tensor& x) const {
        if (added_ == 0) return x;
        const torch::Tensor half = x.slice(2, 0, c10::nullopt, 2).slice(3, 0, c10::nullopt, 2);
        return torch::constant_pad_nd(half, {0, 0, 0, 0, added_ / 2, added_ / 2});
    }

    int64_t added_;
    Conv3x3 conv1_;
    BatchNorm2d bn1_;
    Conv3x3 conv2_;
    BatchNorm2d bn2_;
};

/// ResNet-20 for small images (He et al. 2015, section 4.2): a convolution, three stages of three
/// blocks with 16, 32 and 64 channels, the mean over the image, a linear layer. 269,722 parameters
/// in 59 tensors for 3 channels and 10 classes.
class ResNet20 : public Model {
public:
    explicit ResNet20(const ModelContext& context)
        : conv1_(declaration_, "conv1", context.input_shape[0], 16, 1, Conv3x3::Init::fan_out),
          bn1_(declaration_, "bn1", 16),
          blocks_(blocks(declaration_)),
          fc_(declaration_, "fc", 64, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = bn1_.relu(w, conv1_(w, input), training);    // (B, 16, H, W)
        for (const Block& block : blocks_) x = block(w, x, training);  // (B, 64, H/4, W/4)
        return fc_(w, global_average(x));                              // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    static std::vector<Block> blocks(Declaration& declaration) {
        std::vector<Block> all;
        int64_t in = 16;
        for (const int64_t stage : {1, 2, 3}) {
            const int64_t out = 8 << stage;
            for (const int64_t block : {0, 1, 2}) {
                all.emplace_back(declaration,
                                 "layer" + std::to_string(stage) + "." + std::to_string(block),
                                 std::exchange(in, out), out);
            }
        }
        return all;
    }

    Conv3x3 conv1_;
    BatchNorm2d bn1_;
    std::vector<Block> blocks_;
    Linear fc_;
};

MadeModel make_resnet20(const base::Json&, const ModelContext& context) {
    require_classes("resnet20", context);
    require_images("resnet20", context, 8);
    return std::make_unique<ResNet20>(context);
}

}  // namespace

ModelEntry resnet20_model() {
    return {{"resnet20",
             "ResNet-20 for small images (He et al. 2015), shortcuts without parameters",
             {}},
            make_resnet20};
}

}  // namespace dbench::train
