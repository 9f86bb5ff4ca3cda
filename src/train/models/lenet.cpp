// LeNet-5 for small images, in the form of PyTorch's tutorials, with GroupNorm if wanted.

#include <cmath>
#include <optional>

#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kKernel = 5, kLeastSide = 16;
constexpr int64_t kFirst = 6, kSecond = 16;             // channels of the convolutions
constexpr int64_t kFirstGroups = 2, kSecondGroups = 4;  // of GroupNorm
constexpr int64_t kHidden = 120, kLast = 84;            // widths of the linear layers

/// Returns the side of an image after a convolution and a pooling.
int64_t halved(int64_t side) { return (side - kKernel + 1) / 2; }

/// A 5x5 convolution without padding and with bias, as torch.nn.Conv2d.
BiasedConv2d convolution(Declaration& d, const std::string& name, int64_t in, int64_t out) {
    const double bound = 1 / std::sqrt(static_cast<double>(in * kKernel * kKernel));
    return {d, name, {.in = in, .out = out, .kernel = kKernel, .padded = false}, uniform(bound)};
}

/// Two convolutions, each with ReLU, 2x2 pooling and, with `group_norm`, GroupNorm after the
/// pooling; then three linear layers (LeCun et al. 1998; with GroupNorm the network of
/// yukiTakezawa/MomentumTracking).
class LeNet : public Model {
public:
    LeNet(bool group_norm, const ModelContext& context)
        : conv1_(convolution(declaration_, "conv1", context.input_shape[0], kFirst)),
          norm1_(norm(group_norm, "gn1", kFirstGroups, kFirst)),
          conv2_(convolution(declaration_, "conv2", kFirst, kSecond)),
          norm2_(norm(group_norm, "gn2", kSecondGroups, kSecond)),
          fc1_(declaration_, "fc1",
               kSecond * halved(halved(context.input_shape[1])) *
                   halved(halved(context.input_shape[2])),
               kHidden),
          fc2_(declaration_, "fc2", kHidden, kLast),
          fc3_(declaration_, "fc3", kLast, context.classes) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& input, bool) const override {
        torch::Tensor x = torch::max_pool2d(relu_of(conv1_(w, input)), 2);
        if (norm1_) x = (*norm1_)(w, x);
        x = torch::max_pool2d(relu_of(conv2_(w, x)), 2);
        if (norm2_) x = (*norm2_)(w, x);
        x = relu_of(fc1_(w, x.flatten(1)));
        return fc3_(w, relu_of(fc2_(w, x)));
    }

    data::Order order() const override { return data::Order::channels_last; }

private:
    std::optional<GroupNorm> norm(bool wanted, const char* name, int64_t groups, int64_t channels) {
        if (!wanted) return std::nullopt;
        return GroupNorm(declaration_, name, groups, channels);
    }

    BiasedConv2d conv1_;
    std::optional<GroupNorm> norm1_;
    BiasedConv2d conv2_;
    std::optional<GroupNorm> norm2_;
    Linear fc1_, fc2_, fc3_;
};

struct LeNetSpec {
    bool group_norm;

    static const base::Section<LeNetSpec>& section();
};

const base::Section<LeNetSpec>& LeNetSpec::section() {
    static const base::Section<LeNetSpec> keys{
        {base::Words<bool>("norm", {{"none", false}, {"group", true}}, false,
                           "none: no normalisation; group: GroupNorm of 2 and of 4 groups after "
                           "the poolings"),
         &LeNetSpec::group_norm},
    };
    return keys;
}

ModelPtr make_lenet(const LeNetSpec& spec, const ModelContext& context) {
    require_classes("lenet", context);
    require_images("lenet", context, kLeastSide);
    return std::make_unique<LeNet>(spec.group_norm, context);
}

}  // namespace

ModelEntry lenet_model() {
    return {"lenet", "LeNet-5 with ReLU and max pooling, without normalisation or with GroupNorm",
            make_lenet};
}

}  // namespace dbench::train
