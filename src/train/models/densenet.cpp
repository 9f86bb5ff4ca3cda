#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

constexpr auto kHe = Conv2d::Init::fan_out;

/// BatchNorm, ReLU and a convolution to `growth` channels, which are appended to the input's
/// channels. With `bottleneck`, a 1x1 convolution to 4 growth channels precedes it, with its own
/// BatchNorm and ReLU.
class DenseLayer {
public:
    DenseLayer(Declaration& d, const std::string& name, int64_t in, int64_t growth, bool bottleneck,
               double dropout)
        : norm1_(d, name + ".norm1", in),
          conv1_(d, name + ".conv1",
                 bottleneck ? Conv2d::Options{.in = in, .out = 4 * growth, .kernel = 1, .init = kHe}
                            : Conv2d::Options{.in = in, .out = growth, .init = kHe}),
          dropout_(d, dropout) {
        if (!bottleneck) return;
        norm2_.emplace(d, name + ".norm2", 4 * growth);
        conv2_.emplace(d, name + ".conv2",
                       Conv2d::Options{.in = 4 * growth, .out = growth, .init = kHe});
    }

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        torch::Tensor y = dropout_(conv1_(w, norm1_.relu(w, x, training)), training);
        if (conv2_) y = dropout_((*conv2_)(w, norm2_->relu(w, y, training)), training);
        return torch::cat({x, y}, 1);
    }

private:
    BatchNorm2d norm1_;
    Conv2d conv1_;
    std::optional<BatchNorm2d> norm2_;
    std::optional<Conv2d> conv2_;
    Dropout dropout_;
};

/// Joins two blocks: BatchNorm, ReLU, a 1x1 convolution, and the mean of each 2x2 pixels.
class Transition {
public:
    Transition(Declaration& d, const std::string& name, int64_t in, int64_t out, double dropout)
        : norm_(d, name + ".norm", in),
          conv_(d, name + ".conv", {.in = in, .out = out, .kernel = 1, .init = kHe}),
          dropout_(d, dropout) {}

    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training) const {
        return torch::avg_pool2d(dropout_(conv_(w, norm_.relu(w, x, training)), training), 2);
    }

private:
    BatchNorm2d norm_;
    Conv2d conv_;
    Dropout dropout_;
};

struct DenseOptions {
    int64_t depth, growth;
    bool bottleneck;
    double compression, dropout;

    int64_t per_layer() const { return bottleneck ? 2 : 1; }  ///< Convolutions.
    int64_t layers() const { return (depth - 4) / 3 / per_layer(); }
    int64_t compressed(int64_t channels) const {
        return std::max<int64_t>(1, int64_t(compression * double(channels)));
    }
    /// Channels before the first block; in DenseNet-BC twice the growth.
    int64_t first() const { return bottleneck && compression < 1 ? 2 * growth : 16; }

    static const base::Section<DenseOptions>& section();
};

const base::Section<DenseOptions>& DenseOptions::section() {
    using base::Parameter;
    static const base::Section<DenseOptions> keys{
        {Parameter::integer("depth", "100", "layers, 3 n + 4, or 6 n + 4 with a bottleneck")
             .at_least(10)
             .at_most(1000),
         &DenseOptions::depth},
        {Parameter::integer("growth", "12", "channels that each layer adds")
             .at_least(1)
             .at_most(1024),
         &DenseOptions::growth},
        {Parameter::flag("bottleneck", "true", "a 1x1 convolution before each 3x3 convolution"),
         &DenseOptions::bottleneck},
        {Parameter::number("compression", "0.5", "share of the channels that transitions keep")
             .greater_than(0)
             .at_most(1),
         &DenseOptions::compression},
        {dropout_parameter("0"), &DenseOptions::dropout},
    };
    return keys;
}

/// DenseNet for small images (Huang et al. 2017, section 3): a 3x3 convolution, three dense blocks
/// with the same number of layers, transitions between them that reduce the channels to the share
/// `compression`, BatchNorm and ReLU, the mean over the image, a linear layer. DenseNet-BC-100 with
/// growth 12 has 769,162 parameters for 3 channels and 10 classes.
class DenseNet : public Model {
public:
    DenseNet(const DenseOptions& o, const ModelContext& context)
        : conv0_(declaration_, "features.conv0",
                 {.in = context.input_shape[0], .out = o.first(), .init = kHe}) {
        int64_t channels = o.first();
        for (const char* block : {"1", "2", "3"}) {
            for (int64_t layer = 1; layer <= o.layers(); ++layer) {
                layers_[block[0] - '1'].emplace_back(declaration_,
                                                     "features.denseblock" + std::string(block) +
                                                         ".denselayer" + std::to_string(layer),
                                                     channels, o.growth, o.bottleneck, o.dropout);
                channels += o.growth;
            }
            if (block[0] == '3') break;
            const auto kept = o.compressed(channels);
            transitions_.emplace_back(declaration_, "features.transition" + std::string(block),
                                      channels, kept, o.dropout);
            channels = kept;
        }
        norm_.emplace(declaration_, "features.norm", channels);
        classifier_.emplace(declaration_, "classifier", channels, context.classes);
    }

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = conv0_(w, input);
        for (size_t block = 0; block < 3; ++block) {
            for (const DenseLayer& layer : layers_[block]) x = layer(w, x, training);
            if (block < 2) x = transitions_[block](w, x, training);
        }
        return (*classifier_)(w, global_average(norm_->relu(w, x, training)));  // (B, classes)
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    Conv2d conv0_;
    std::vector<DenseLayer> layers_[3];
    std::vector<Transition> transitions_;
    std::optional<BatchNorm2d> norm_;
    std::optional<Linear> classifier_;
};

ModelPtr make_densenet(const DenseOptions& o, const ModelContext& context) {
    const int64_t step = 3 * o.per_layer();
    if (o.depth % step != 4 % step) {
        throw base::UserError("/model/depth: densenet needs " + std::to_string(step) +
                              " n + 4 layers" + (o.bottleneck ? " with a bottleneck" : "") +
                              " (found " + std::to_string(o.depth) + "): use " +
                              std::to_string((o.depth - 4) / step * step + 4) + ", 40 or 100");
    }
    require_classes("densenet", context);
    require_images("densenet", context, 8);
    return std::make_unique<DenseNet>(o, context);
}

}  // namespace

ModelEntry densenet_model() {
    return {"densenet",
            "DenseNet for small images (Huang et al. 2017); the defaults are DenseNet-BC-100",
            make_densenet};
}

}  // namespace dbench::train
