
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

/// Three 3x3 convolutions with width, 2 width and 4 width channels, each with BatchNorm and ReLU,
/// with max pooling between them; then the mean over the image and a linear layer.
class Cnn : public Model {
public:
    Cnn(int64_t width, const ModelContext& context)
        : conv1_(declaration_, "conv1", {context.input_shape[0], width}),
          bn1_(declaration_, "bn1", width),
          conv2_(declaration_, "conv2", {width, 2 * width}),
          bn2_(declaration_, "bn2", 2 * width),
          conv3_(declaration_, "conv3", {2 * width, 4 * width}),
          bn3_(declaration_, "bn3", 4 * width),
          fc_(declaration_, "fc", 4 * width, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = bn1_.relu(w, conv1_(w, input), training);  // (B, width, H, W)
        x = torch::max_pool2d(x, 2);
        x = bn2_.relu(w, conv2_(w, x), training);  // (B, 2 width, H/2, W/2)
        x = torch::max_pool2d(x, 2);
        x = bn3_.relu(w, conv3_(w, x), training);  // (B, 4 width, H/4, W/4)
        return fc_(w, global_average(x));          // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    Conv2d conv1_;
    BatchNorm2d bn1_;
    Conv2d conv2_;
    BatchNorm2d bn2_;
    Conv2d conv3_;
    BatchNorm2d bn3_;
    Linear fc_;
};

struct CnnSpec {
    int64_t width;  ///< Channels of the first layer.

    static const base::Section<CnnSpec>& section();
};

const base::Section<CnnSpec>& CnnSpec::section() {
    static const base::Section<CnnSpec> keys{
        {base::Parameter::integer(
             "width", "16",
             "channels of the first layer; the next ones have twice and four times as many")
             .at_least(1)
             .at_most(4096),
         &CnnSpec::width},
    };
    return keys;
}

ModelPtr make_cnn(const CnnSpec& spec, const ModelContext& context) {
    require_classes("cnn", context);
    require_images("cnn", context, 8);
    return std::make_unique<Cnn>(spec.width, context);
}

}  // namespace

ModelEntry cnn_model() {
    return {"cnn", "three 3x3 convolutions with BatchNorm, two poolings, a linear layer", make_cnn};
}

}  // namespace dbench::train
