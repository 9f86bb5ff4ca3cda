// VGG-11 for small images, in two forms that published experiments use.

#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kGroups = 8;
constexpr double kDropout = 0.5;  // the default, of norm "none"

struct VggSpec {
    int64_t width;  ///< Channels of the first layer.
    bool group_norm;
    double dropout;

    static const base::Section<VggSpec>& section();
};

const base::Section<VggSpec>& VggSpec::section() {
    static const base::Section<VggSpec> keys{
        {base::Parameter::integer("width", "64", "channels of the first layer, a multiple of 8")
             .at_least(8)
             .at_most(4096),
         &VggSpec::width},
        {base::Words<bool>("norm", {{"none", false}, {"group", true}}, false,
                           "none: no normalisation, and three linear layers with dropout; group: "
                           "GroupNorm of 8 groups after each convolution, and one linear layer"),
         &VggSpec::group_norm},
        {dropout_parameter("0.5"), &VggSpec::dropout},
    };
    return keys;
}

/// A 3x3 convolution with bias, GroupNorm if wanted, and ReLU. Modules are name.<k> and
/// name.<k + 1>.
class VggLayer {
public:
    VggLayer(Declaration& d, int64_t k, int64_t in, int64_t out, bool group_norm)
        : conv_(d, module_name(k),
                {.in = in,
                 .out = out,
                 .init = group_norm ? Conv2d::Init::module : Conv2d::Init::fan_out},
                group_norm ? uniform(1 / std::sqrt(9.0 * static_cast<double>(in))) : constant(0)) {
        if (group_norm) norm_.emplace(d, module_name(k + 1), kGroups, out);
    }

    torch::Tensor operator()(const Weights& w, const torch::Tensor& input) const {
        torch::Tensor x = conv_(w, input);
        if (norm_) x = (*norm_)(w, x);
        return relu_of(x);
    }

private:
    static std::string module_name(int64_t k) { return "features." + std::to_string(k); }

    BiasedConv2d conv_;
    std::optional<GroupNorm> norm_;
};

/// Configuration A of Simonyan and Zisserman 2014 (arXiv 1409.1556) with eight convolutions and
/// five poolings, for images of 32 to 63 pixels. norm "none" is the form of RelaySGD's code (Vogels
/// et al. 2021), "group" that of Base-(k+1)'s (Takezawa et al. 2023).
class Vgg11 : public Model {
public:
    Vgg11(const VggSpec& spec, const ModelContext& context)
        : dropout_(declaration_, dropout(spec)) {
        int64_t in = context.input_shape[0], k = 0;
        for (const int64_t factor : {1, 0, 2, 0, 4, 4, 0, 8, 8, 0, 8, 8, 0}) {  // 0: pooling
            pooled_.push_back(factor == 0);
            if (factor == 0) {
                ++k;
                continue;
            }
            const int64_t out = factor * spec.width;
            layers_.emplace_back(declaration_, k, std::exchange(in, out), out, spec.group_norm);
            k += spec.group_norm ? 3 : 2;
        }
        if (spec.group_norm) {
            linear_.emplace_back(declaration_, "classifier", in, context.classes);
            return;
        }
        for (const auto& [name, out] :
             {std::pair{"1", in}, std::pair{"4", in}, std::pair{"6", context.classes}}) {
            linear_.emplace_back(declaration_, std::string("classifier.") + name, in, out);
        }
    }

    torch::Tensor forward(const Weights& w, const torch::Tensor& input,
                          bool training) const override {
        torch::Tensor x = input;
        auto layer = layers_.begin();
        for (const bool pooled : pooled_) x = pooled ? torch::max_pool2d(x, 2) : (*layer++)(w, x);
        x = x.flatten(1);
        for (size_t i = 0; i < linear_.size(); ++i) {
            if (i > 0) x = relu_of(x);
            const bool last = i + 1 == linear_.size();
            x = linear_[i](w, last ? x : dropout_(x, training));
        }
        return x;
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    static double dropout(const VggSpec& spec) { return spec.group_norm ? 0 : spec.dropout; }

    Dropout dropout_;
    std::vector<VggLayer> layers_;
    std::vector<bool> pooled_;  ///< Each step of the features: a pooling, or the next layer.
    std::vector<Linear> linear_;
};

ModelPtr make_vgg11(const VggSpec& spec, const ModelContext& context) {
    require_classes("vgg11", context);
    require_images("vgg11", context, 32);
    for (const size_t side : {1, 2}) {
        const int64_t pixels = context.input_shape[side];
        if (pixels >= 64) {
            throw base::UserError("/model: vgg11 is for images of 32 to 63 pixels (found " +
                                  std::to_string(pixels) + "): use resnet50");
        }
    }
    if (spec.width % kGroups != 0) {
        throw base::UserError("/model/width: " + std::to_string(spec.width) +
                              " is not a multiple of 8 (GroupNorm has 8 groups): use " +
                              std::to_string((spec.width / kGroups + 1) * kGroups));
    }
    // A resolved spec has the default, whatever its norm is.
    if (spec.group_norm && spec.dropout != 0 && spec.dropout != kDropout) {
        throw base::UserError(
            "/model/dropout: vgg11 with norm 'group' has no dropout: remove the "
            "key, or use norm 'none'");
    }
    return std::make_unique<Vgg11>(spec, context);
}

}  // namespace

ModelEntry vgg11_model() {
    return {"vgg11", "VGG-11 for images of 32 pixels, without normalisation or with GroupNorm",
            make_vgg11};
}

}  // namespace dbench::train
