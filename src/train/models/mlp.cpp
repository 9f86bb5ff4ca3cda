#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"

namespace dbench::train {
namespace {

/// Linear layers with ReLU between them, on the flattened input. Modules are layers.0, layers.1,
/// ...
class Mlp : public Model {
public:
    Mlp(const std::vector<int64_t>& hidden, const ModelContext& context) {
        int64_t in = input_features(context);
        for (const int64_t out : hidden) add(std::exchange(in, out), out);
        add(in, context.classes);
    }

    torch::Tensor forward(const Weights& weights, const torch::Tensor& input, bool) const override {
        torch::Tensor x = layers_.front()(weights, input.flatten(1));
        for (size_t i = 1; i < layers_.size(); ++i) x = layers_[i](weights, relu_of(x));
        return x;
    }

private:
    void add(int64_t in, int64_t out) {
        layers_.emplace_back(declaration_, "layers." + std::to_string(layers_.size()), in, out);
    }

    std::vector<Linear> layers_;
};

struct MlpSpec {
    std::vector<double> hidden;  ///< Widths of the hidden layers, first to last.

    static const base::Section<MlpSpec>& section();
};

const base::Section<MlpSpec>& MlpSpec::section() {
    static const base::Section<MlpSpec> keys{
        {base::Parameter::numbers("hidden", "[128, 64]",
                                  "widths of the hidden layers, first to last")
             .at_least(1)
             .at_most(1 << 20),
         &MlpSpec::hidden},
    };
    return keys;
}

ModelPtr make_mlp(const MlpSpec& spec, const ModelContext& context) {
    require_classes("mlp", context);
    std::vector<int64_t> hidden;
    for (const double size : spec.hidden) {
        if (size != std::floor(size)) {
            throw base::UserError("/model/hidden/" + std::to_string(hidden.size()) +
                                  ": must be a whole number (found " + base::short_text(size) +
                                  ")");
        }
        hidden.push_back(static_cast<int64_t>(size));
    }
    return std::make_unique<Mlp>(hidden, context);
}

}  // namespace

ModelEntry mlp_model() {
    return {"mlp", "linear layers with ReLU between them, on the flattened input", make_mlp};
}

}  // namespace dbench::train
