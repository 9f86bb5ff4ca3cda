#include <cmath>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

struct GptOptions {
    int64_t layers, heads, width;
    std::optional<int64_t> context;  ///< Positions; empty: as many as a sample has tokens.
    double dropout;

    static const base::Section<GptOptions>& section();
};

const base::Section<GptOptions>& GptOptions::section() {
    using base::Parameter;
    static const base::Section<GptOptions> keys{
        {Parameter::integer("layers", "12", "blocks").at_least(1).at_most(1000),
         &GptOptions::layers},
        {Parameter::integer("heads", "12", "attention heads per block")
             .at_least(1)
             .at_most(1 << 16),
         &GptOptions::heads},
        {Parameter::integer("width", "768", "width of the embedding and of each block")
             .at_least(1)
             .at_most(1 << 16),
         &GptOptions::width},
        {Parameter::integer(
             "context", "null",
             "positions that the model can embed; null: as many as a sample has tokens")
             .at_least(1)
             .at_most(1 << 24)
             .or_null(),
         &GptOptions::context},
        {dropout_parameter("0.1"), &GptOptions::dropout},
    };
    return keys;
}

/// GPT-2 draws all weights with this standard deviation, except in layers that write to the
/// residual stream (two per block): theirs is divided by the square root of the number of such
/// layers.
constexpr double kDeviation = 0.02;

Linear::Initials residual_initials(const GptOptions& o) {
    return {normal(kDeviation / std::sqrt(2.0 * static_cast<double>(o.layers))), constant(0)};
}

/// A block: x + attention(norm(x)), then x + MLP(norm(x)); the MLP has one hidden layer of four
/// times the width.
class GptBlock {
public:
    GptBlock(Declaration& d, const std::string& name, const GptOptions& o)
        : options_(o),
          ln_1_(d, name + ".ln_1", o.width),
          c_attn_(d, name + ".attn.c_attn", o.width, 3 * o.width,
                  {normal(kDeviation), constant(0)}),
          attn_c_proj_(d, name + ".attn.c_proj", o.width, o.width, residual_initials(o)),
          ln_2_(d, name + ".ln_2", o.width),
          c_fc_(d, name + ".mlp.c_fc", o.width, 4 * o.width, {normal(kDeviation), constant(0)}),
          mlp_c_proj_(d, name + ".mlp.c_proj", 4 * o.width, o.width, residual_initials(o)),
          dropout_(d, o.dropout) {}

    /// x (B T, width)
    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, int64_t length,
                             bool training) const {
        const auto qkv = c_attn_(w, ln_1_(w, x)).unflatten(0, {-1, length}).chunk(3, 2);
        const torch::Tensor attended =
            attention(qkv[0], qkv[1], qkv[2], options_.heads, {.causal = true},
                      training ? options_.dropout : 0.0);
        const torch::Tensor y = x + dropout_(attn_c_proj_(w, attended.flatten(0, 1)), training);
        const torch::Tensor hidden = torch::gelu(c_fc_(w, ln_2_(w, y)), "tanh");
        return y + dropout_(mlp_c_proj_(w, hidden), training);
    }

private:
    GptOptions options_;
    LayerNorm ln_1_;
    Linear c_attn_, attn_c_proj_;
    LayerNorm ln_2_;
    Linear c_fc_, mlp_c_proj_;
    Dropout dropout_;
};

/// GPT-2 (Radford et al. 2019): a decoder whose last linear layer shares its weight with the
/// embedding. Tensors have the names of the published weights and the memory order of
/// torch.nn.Linear. With 50,257 tokens, 12 layers of width 768 and a context of 1024 it has
/// 124,439,808 parameters.
class Gpt : public Model {
public:
    Gpt(const GptOptions& o, int64_t positions, const ModelContext& context)
        : wte_(declaration_, "wte", context.classes, o.width, normal(kDeviation), true),
          wpe_(declaration_, "wpe", positions, o.width, normal(kDeviation), true),
          dropout_(declaration_, o.dropout),
          blocks_(blocks(declaration_, o)),
          ln_f_(declaration_, "ln_f", o.width) {}

    torch::Tensor forward(const Weights& w, const torch::Tensor& tokens,
                          bool training) const override {
        const int64_t length = tokens.size(1);
        const torch::Tensor position = wpe_.weight(w).slice(0, 0, length);
        torch::Tensor x = dropout_(wte_(w, tokens) + position, training).flatten(0, 1);
        for (const GptBlock& block : blocks_) x = block(w, x, length, training);  // (B T, width)
        return torch::linear(ln_f_(w, x), wte_.weight(w));                        // (B T, tokens)
    }

private:
    static std::vector<GptBlock> blocks(Declaration& declaration, const GptOptions& o) {
        std::vector<GptBlock> all;
        for (int64_t k = 0; k < o.layers; ++k) {
            all.emplace_back(declaration, "h." + std::to_string(k), o);
        }
        return all;
    }

    Embedding wte_, wpe_;
    Dropout dropout_;
    std::vector<GptBlock> blocks_;
    LayerNorm ln_f_;
};

ModelPtr make_gpt(const GptOptions& o, const ModelContext& context) {
    require_tokens("gpt", context);
    const int64_t length = context.input_shape.front();
    const int64_t positions = o.context.value_or(length);
    require_heads(o.heads, o.width);
    if (positions < length) {
        throw base::UserError("/model/context: " + std::to_string(positions) +
                              " positions are less than the " + std::to_string(length) +
                              " tokens of a sample: choose at least that, or a shorter "
                              "/data/sequence");
    }
    return std::make_unique<Gpt>(o, positions, context);
}

}  // namespace

ModelEntry gpt_model() {
    return {"gpt", "GPT-2 (Radford et al. 2019) for texts: a decoder of causal self-attention",
            make_gpt};
}

}  // namespace dbench::train
