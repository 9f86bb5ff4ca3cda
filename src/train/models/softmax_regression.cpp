
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

/// logits = W x + b on the flattened input, like torch.nn.Linear.
class SoftmaxRegression : public Model {
public:
    explicit SoftmaxRegression(const ModelContext& context)
        : linear_(declaration_, "", input_features(context), context.classes) {}

    torch::Tensor forward(const Weights& weights, const torch::Tensor& x, bool) const override {
        return linear_(weights, x.flatten(1));
    }

private:
    Linear linear_;
};

ModelPtr make_softmax_regression(const base::NoKeys&, const ModelContext& context) {
    require_classes("softmax_regression", context);
    return std::make_unique<SoftmaxRegression>(context);
}

}  // namespace

ModelEntry softmax_regression_model() {
    return {"softmax_regression", "logits = W x + b on the flattened input",
            make_softmax_regression};
}

}  // namespace dbench::train
