#include "train/models/layers/text_layers.hpp"

#include <cmath>
#include <tuple>

#include "train/models/layers/fused_attention.hpp"

namespace dbench::train {

using arena::TensorKind;

namespace {

/// Rows of a weight. Backward writes the gradient directly to its destination, as sums in the order
/// of the tokens like PyTorch's, with one pass over the gradient less.
class DirectGradientEmbedding : public torch::autograd::Function<DirectGradientEmbedding> {
public:
    static torch::Tensor forward(torch::autograd::AutogradContext* context,
                                 const torch::Tensor& weight, const torch::Tensor& tokens,
                                 const torch::Tensor& gradient) {
        context->saved_data["tokens"] = tokens;
        context->saved_data["gradient"] = gradient;
        return torch::embedding(weight, tokens);
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list outputs) {
        const torch::Tensor tokens = context->saved_data["tokens"].toTensor();
        // Another handle of the same memory: autograd stores a gradient without a copy only if
        // nothing else holds its handle.
        torch::Tensor dw = context->saved_data["gradient"].toTensor().alias();
        dw.zero_().index_add_(0, tokens.flatten(), outputs[0].flatten(0, -2));
        return {dw, {}, {}};
    }
};

}  // namespace

Embedding::Embedding(Declaration& d, const std::string& name, int64_t tokens, int64_t width,
                     const Initial& initial, bool tied)
    : weight_(d.parameter({name + ".weight", {tokens, width}, TensorKind::weight, initial})),
      tied_(tied) {}

torch::Tensor Embedding::operator()(const Weights& weights, const torch::Tensor& tokens) const {
    if (tied_ || weights.gradients.empty() || !torch::GradMode::is_enabled()) {
        return torch::embedding(weight(weights), tokens);
    }
    return DirectGradientEmbedding::apply(weight(weights), tokens, weights.gradients[weight_]);
}

LayerNorm::LayerNorm(Declaration& d, const std::string& name, int64_t width)
    : width_(width),
      weight_(d.parameter({name + ".weight", {width}, TensorKind::norm, constant(1)})),
      bias_(d.parameter({name + ".bias", {width}, TensorKind::norm, constant(0)})) {}

torch::Tensor LayerNorm::operator()(const Weights& weights, const torch::Tensor& x) const {
    return torch::layer_norm(x, {width_}, weights.parameters[weight_], weights.parameters[bias_]);
}

Dropout::Dropout(Declaration& d, double p) : p_(p) { d.draws = d.draws || p > 0; }

torch::Tensor Dropout::operator()(const torch::Tensor& x, bool training) const {
    return p_ > 0 && training ? torch::dropout(x, p_, true) : x;
}

constexpr size_t kTensorsPerLayer = 4;  // Tensors of one layer.

Lstm::Lstm(Declaration& d, const std::string& name, const Options& options) : options_(options) {
    const int64_t hidden = options.hidden, gates = 4 * hidden;
    const Initial initial = uniform(1 / std::sqrt(static_cast<double>(hidden)));
    for (int64_t layer = 0; layer < options.layers; ++layer) {
        const std::string end = "_l" + std::to_string(layer);
        const int64_t in = layer == 0 ? options.in : hidden;
        const auto add = [&](const char* tensor, std::vector<int64_t> shape, TensorKind kind) {
            parameters_.push_back(
                d.parameter({name + "." + tensor + end, std::move(shape), kind, initial}));
        };
        add("weight_ih", {gates, in}, TensorKind::weight);
        add("weight_hh", {gates, hidden}, TensorKind::weight);
        add("bias_ih", {gates}, TensorKind::bias);
        add("bias_hh", {gates}, TensorKind::bias);
    }
    d.draws = d.draws || (options.dropout > 0 && options.layers > 1);
    d.stacks = false;
    if (options.stream_batch == 0) return;
    const std::vector<int64_t> state = {options.layers, options.stream_batch, hidden};
    hidden_ = d.carry({name + ".hidden", state});
    cell_ = d.carry({name + ".cell", state});
}

torch::Tensor Lstm::operator()(const Weights& weights, const torch::Tensor& x,
                               bool training) const {
    // Layer by layer: cuDNN's own dropout between layers would draw from a generator of its own.
    const bool carries = !weights.carried.empty();
    const auto before = [&](int k, int64_t layer) {
        return carries ? weights.carried[k].narrow(0, layer, 1).clone()
                       : x.new_zeros({1, x.size(0), options_.hidden});
    };
    torch::Tensor y = x.transpose(0, 1);
    std::vector<torch::Tensor> hidden, cell;
    for (int64_t layer = 0; layer < options_.layers; ++layer) {
        std::vector<torch::Tensor> parameters;
        for (size_t k = 0; k < kTensorsPerLayer; ++k) {
            parameters.push_back(
                weights.parameters[parameters_[static_cast<size_t>(layer) * kTensorsPerLayer + k]]);
        }
        auto [out, h, c] = torch::lstm(
            y, {before(hidden_, layer), before(cell_, layer)}, parameters, /*has_biases=*/true,
            /*num_layers=*/1, /*dropout=*/0, training, /*bidirectional=*/false,
            /*batch_first=*/false);
        const bool drops = options_.dropout > 0 && training && layer + 1 < options_.layers;
        y = drops ? torch::dropout(out, options_.dropout, true) : out;
        hidden.push_back(h);
        cell.push_back(c);
    }
    if (carries) {
        weights.carried[hidden_].detach().copy_(torch::cat(hidden).detach());
        weights.carried[cell_].detach().copy_(torch::cat(cell).detach());
    }
    return y.transpose(0, 1);
}

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        int64_t heads, const AttentionMask& mask, double dropout) {
    const auto split = [&](const torch::Tensor& x) {
        return x.unflatten(2, {heads, -1}).transpose(1, 2);  // (B, heads, T, width / heads)
    };
    AttentionOptions options{.dropout = dropout, .causal = mask.causal};
    if (mask.visible.defined()) options.mask = mask.visible;
    const torch::Tensor seen = fused_attention(split(q), split(k), split(v), options);
    return seen.transpose(1, 2).flatten(2);
}

}  // namespace dbench::train
