#include "train/models/names.hpp"
#include "train/models/zoo.hpp"

namespace dbench::train {

using base::Parameter;

const std::vector<ModelEntry>& model_table() {
    static const std::vector<ModelEntry> table = {
        {{"softmax_regression", "logits = W x + b on the flattened input", {}},
         make_softmax_regression},
        {{"least_squares", "1/2 ||A x - b||^2 / m; data with real targets only", {}},
         make_least_squares},
        {{"mlp",
          "linear layers with ReLU between them, on the flattened input",
          {Parameter::numbers("hidden", "[128, 64]", "widths of the hidden layers, first to last")
               .at_least(1)
               .at_most(1 << 20)}},
         make_mlp},
        {{"cnn",
          "three 3x3 convolutions with BatchNorm, two poolings, a linear layer",
          {Parameter::integer("width", "16", "channels of the first layer; then twice, four times")
               .at_least(1)
               .at_most(4096)}},
         make_cnn},
        {{"resnet20",
          "ResNet-20 for small images (He et al. 2015), shortcuts without parameters",
          {}},
         make_resnet20},
    };
    return table;
}

std::vector<const base::Entry*> model_entries() { return base::entries_of(model_table()); }

}  // namespace dbench::train
