// The Transformer (Vaswani et al. 2017, arXiv 1706.03762) for pairs of sentences: an encoder of the
// source and a decoder of the target.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

using arena::TensorKind;

struct Options {
    int64_t width, heads, layers, hidden;
    double dropout;
    bool norm_first;  ///< LayerNorm before each layer instead of after each sum.

    static const base::Section<Options>& section();
};

const base::Section<Options>& Options::section() {
    using base::Parameter;
    const auto size = [](const char* name, const char* standard, const char* help) {
        return Parameter::integer(name, standard, help).at_least(1).at_most(1 << 16);
    };
    static const base::Section<Options> keys{
        {size("width", "512", "width of the embedding and of each layer"), &Options::width},
        {size("heads", "8", "attention heads per layer"), &Options::heads},
        {Parameter::integer("layers", "6", "layers of the encoder, and of the decoder")
             .at_least(1)
             .at_most(1000),
         &Options::layers},
        {size("hidden", "2048", "width of the hidden layer of each feed-forward network"),
         &Options::hidden},
        {base::Words<bool>("norm", {{"post", false}, {"pre", true}}, false,
                           "LayerNorm after each sum, as published, or before each layer"),
         &Options::norm_first},
        {dropout_parameter("0.1"), &Options::dropout},
    };
    return keys;
}

Initial xavier_uniform(int64_t in, int64_t out) {
    return uniform(std::sqrt(6.0 / static_cast<double>(in + out)));
}

Linear::Initials initials(int64_t in, int64_t out) {
    return {xavier_uniform(in, out), constant(0)};
}

/// Applies a layer at each position: (B, T, in) to (B, T, out).
torch::Tensor at_each(const Linear& layer, const Weights& w, const torch::Tensor& x) {
    return layer(w, x.flatten(0, 1)).unflatten(0, {x.size(0), x.size(1)});
}

/// torch.nn.MultiheadAttention over (B, T, width); its three projections are one tensor.
class MultiheadAttention {
public:
    MultiheadAttention(Declaration& d, const std::string& name, const Options& o)
        : width_(o.width),
          heads_(o.heads),
          weight_(d.parameter({name + ".in_proj_weight",
                               {3 * o.width, o.width},
                               TensorKind::weight,
                               xavier_uniform(o.width, 3 * o.width)})),
          bias_(
              d.parameter({name + ".in_proj_bias", {3 * o.width}, TensorKind::bias, constant(0)})),
          out_proj_(d, name + ".out_proj", o.width, o.width, initials(o.width, o.width)) {}

    /// Returns projections first .. first + count - 1 of query, key and value, concatenated.
    torch::Tensor project(const Weights& w, const torch::Tensor& x, int64_t first,
                          int64_t count) const {
        const int64_t begin = first * width_, rows = count * width_;
        return torch::linear(x, w.parameters[weight_].narrow(0, begin, rows),
                             w.parameters[bias_].narrow(0, begin, rows));
    }
    torch::Tensor operator()(const Weights& w, const torch::Tensor& query,
                             const torch::Tensor& keys_values, const AttentionMask& mask) const {
        const auto kv = keys_values.chunk(2, 2);
        return at_each(out_proj_, w, attention(query, kv[0], kv[1], heads_, mask, 0));
    }

private:
    int64_t width_, heads_;
    int weight_, bias_;
    Linear out_proj_;
};

class FeedForward {
public:
    FeedForward(Declaration& d, const std::string& name, const Options& o)
        : linear1_(d, name + ".linear1", o.width, o.hidden, initials(o.width, o.hidden)),
          linear2_(d, name + ".linear2", o.hidden, o.width, initials(o.hidden, o.width)) {}
    torch::Tensor operator()(const Weights& w, const torch::Tensor& x) const {
        return at_each(linear2_, w, torch::relu(at_each(linear1_, w, x)));
    }

private:
    Linear linear1_, linear2_;
};

/// norm(x + dropout(f(x))), as published; with norm_first x + dropout(f(norm(x))).
class Residual {
public:
    Residual(Declaration& d, const std::string& norm, const Options& o)
        : norm_first_(o.norm_first), norm_(d, norm, o.width), dropout_(d, o.dropout) {}
    template <class F>
    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, bool training,
                             const F& f) const {
        if (norm_first_) return x + dropout_(f(norm_(w, x)), training);
        return norm_(w, x + dropout_(f(x), training));
    }

private:
    bool norm_first_;
    LayerNorm norm_;
    Dropout dropout_;
};

class EncoderLayer {
public:
    EncoderLayer(Declaration& d, const std::string& name, const Options& o)
        : self_attn_(d, name + ".self_attn", o),
          feed_forward_(d, name, o),
          attended_(d, name + ".norm1", o),
          fed_(d, name + ".norm2", o) {}

    /// x (B, S, width); the mask is true for tokens that are not padding.
    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, const AttentionMask& mask,
                             bool training) const {
        const torch::Tensor y = attended_(w, x, training, [&](const torch::Tensor& in) {
            const torch::Tensor qkv = self_attn_.project(w, in, 0, 3);
            const int64_t width = in.size(2);
            return self_attn_(w, qkv.narrow(2, 0, width), qkv.narrow(2, width, 2 * width), mask);
        });
        return fed_(w, y, training, [&](const torch::Tensor& in) { return feed_forward_(w, in); });
    }

private:
    MultiheadAttention self_attn_;
    FeedForward feed_forward_;
    Residual attended_, fed_;
};

/// Keys and values that a decoder layer keeps, concatenated: of the source (B, S, 2 width) and of
/// the target so far (B, T, 2 width).
struct KeyValueCache {
    torch::Tensor source, target;
};

class DecoderLayer {
public:
    DecoderLayer(Declaration& d, const std::string& name, const Options& o)
        : self_attn_(d, name + ".self_attn", o),
          multihead_attn_(d, name + ".multihead_attn", o),
          feed_forward_(d, name, o),
          attended_(d, name + ".norm1", o),
          attended_source_(d, name + ".norm2", o),
          fed_(d, name + ".norm3", o) {}

    /// Computes keys and values of the encoder's output.
    KeyValueCache project_source(const Weights& w, const torch::Tensor& memory) const {
        return {multihead_attn_.project(w, memory, 1, 2), {}};
    }
    /// x (B, T, width) is the whole target, or one token that follows those in `seen`.
    torch::Tensor operator()(const Weights& w, const torch::Tensor& x, KeyValueCache& cache,
                             const AttentionMask& source_mask, bool training) const {
        const int64_t width = x.size(2);
        const bool first = !cache.target.defined();
        const torch::Tensor y = attended_(w, x, training, [&](const torch::Tensor& in) {
            const torch::Tensor qkv = self_attn_.project(w, in, 0, 3);
            const torch::Tensor kv = qkv.narrow(2, width, 2 * width);
            cache.target = first ? kv : torch::cat({cache.target, kv}, 1);
            return self_attn_(w, qkv.narrow(2, 0, width), cache.target, {.causal = first});
        });
        const torch::Tensor z = attended_source_(w, y, training, [&](const torch::Tensor& in) {
            return multihead_attn_(w, multihead_attn_.project(w, in, 0, 1), cache.source,
                                   source_mask);
        });
        return fed_(w, z, training, [&](const torch::Tensor& in) { return feed_forward_(w, in); });
    }

private:
    MultiheadAttention self_attn_, multihead_attn_;
    FeedForward feed_forward_;
    Residual attended_, attended_source_, fed_;
};

/// Returns the position encodings of positions first, first + 1, ... (T, width): element 2 k of
/// position p is sin(p / 10000^(2 k / width)), element 2 k + 1 is the cosine.
torch::Tensor positions(int64_t first, int64_t count, int64_t width, torch::Device device) {
    const auto real = torch::TensorOptions(torch::kFloat64).device(device);
    const torch::Tensor place = torch::arange(first, first + count, real).unsqueeze(1);
    const torch::Tensor step = torch::arange(0, width, 2, real) / static_cast<double>(width);
    const torch::Tensor angle = place * torch::exp(step * -std::log(10000.0));
    return torch::stack({angle.sin(), angle.cos()}, 2).flatten(1);
}

/// One embedding serves the source, the target and the last layer. Tensors have the names and
/// memory order of torch.nn.Transformer. With norm_first encoder and decoder end with a norm, else
/// with none, as published. With width 512 and 6 layers it has 44,138,496 parameters and 512 for
/// each token.
class Transformer : public Model {
public:
    Transformer(const Options& o, const ModelContext& context)
        : options_(o),
          embedding_(declaration_, "embedding", context.classes, o.width,
                     normal(1 / std::sqrt(static_cast<double>(o.width))), true),
          dropout_(declaration_, o.dropout) {
        declaration_.stacks = false;  // Shapes depend on the padding.
        for (int64_t k = 0; k < o.layers; ++k) {
            encoder_.emplace_back(declaration_, "encoder.layers." + std::to_string(k), o);
        }
        if (o.norm_first) encoder_norm_.emplace(declaration_, "encoder.norm", o.width);
        for (int64_t k = 0; k < o.layers; ++k) {
            decoder_.emplace_back(declaration_, "decoder.layers." + std::to_string(k), o);
        }
        if (o.norm_first) decoder_norm_.emplace(declaration_, "decoder.norm", o.width);
    }

    /// Maps sources and targets, tokens (B, 2, T), to logits of the tokens that follow those of the
    /// targets: (terms, tokens), without rows for padding.
    torch::Tensor forward(const Weights& w, const torch::Tensor& tokens,
                          bool training) const override {
        return logits_at(w, tokens, visible(tokens).nonzero(), training);
    }
    torch::Tensor forward_terms(const Weights& w, const torch::Tensor& tokens, int64_t terms,
                                bool training) const override {
        return logits_at(w, tokens, at::nonzero_static(visible(tokens), terms), training);
    }

    std::vector<std::vector<int64_t>> translate(const Weights& w,
                                                const torch::Tensor& tokens) const override {
        Source source = encode(w, tokens.select(1, 0), false);
        const torch::Tensor most =
            ((tokens.select(1, 0) != data::kPadToken).sum(1) * 2 + 10).to(torch::kCPU);
        const auto limit = most.accessor<int64_t, 1>();
        torch::Tensor next = torch::full({tokens.size(0), 1}, data::kBeginToken, tokens.options());
        std::vector<std::vector<int64_t>> out(static_cast<size_t>(tokens.size(0)));
        std::vector<bool> ended(out.size());
        for (int64_t t = 0; !std::ranges::all_of(ended, std::identity()); ++t) {
            const torch::Tensor y = decode(w, next, t, source, false);
            next = logits(w, y.squeeze(1)).argmax(1, /*keepdim=*/true);
            const torch::Tensor said = next.to(torch::kCPU);
            for (size_t k = 0; k < out.size(); ++k) {
                const auto row = static_cast<int64_t>(k);
                const auto token = said[row].item<int64_t>();
                ended[k] = ended[k] || token == data::kEndToken || t == limit[row];
                if (!ended[k]) out[k].push_back(token);
            }
        }
        return out;
    }

private:
    /// True for targets that are not padding, (B T).
    static torch::Tensor visible(const torch::Tensor& tokens) {
        return (tokens.select(1, 1) != data::kPadToken).flatten();
    }
    /// Returns the logits at `places` (terms, 1) of the targets.
    torch::Tensor logits_at(const Weights& w, const torch::Tensor& tokens,
                            const torch::Tensor& places, bool training) const {
        Source source = encode(w, tokens.select(1, 0), training);
        const torch::Tensor y = decode(w, tokens.select(1, 1), 0, source, training);
        return logits(w, y.flatten(0, 1).index_select(0, places.squeeze(1)));
    }

    struct Source {
        AttentionMask mask;
        std::vector<KeyValueCache> cache;  ///< Per layer of the decoder.
    };

    torch::Tensor embed(const Weights& w, const torch::Tensor& tokens, int64_t first,
                        bool training) const {
        const torch::Tensor x = embedding_(w, tokens);
        const torch::Tensor place =
            positions(first, tokens.size(1), options_.width, x.device()).to(x.dtype());
        return dropout_(x * std::sqrt(static_cast<double>(options_.width)) + place, training);
    }

    Source encode(const Weights& w, const torch::Tensor& tokens, bool training) const {
        Source source{{.visible = (tokens != data::kPadToken).unsqueeze(1).unsqueeze(1)}, {}};
        torch::Tensor x = embed(w, tokens, 0, training);
        for (const EncoderLayer& layer : encoder_) x = layer(w, x, source.mask, training);
        if (encoder_norm_) x = (*encoder_norm_)(w, x);
        for (const DecoderLayer& layer : decoder_)
            source.cache.push_back(layer.project_source(w, x));
        return source;
    }

    /// Decodes the targets from position `first` on: (B, T) to (B, T, width).
    torch::Tensor decode(const Weights& w, const torch::Tensor& tokens, int64_t first,
                         Source& source, bool training) const {
        torch::Tensor x = embed(w, tokens, first, training);
        for (size_t k = 0; k < decoder_.size(); ++k) {
            x = decoder_[k](w, x, source.cache[k], source.mask, training);
        }
        return decoder_norm_ ? (*decoder_norm_)(w, x) : x;
    }

    torch::Tensor logits(const Weights& w, const torch::Tensor& x) const {
        return torch::linear(x, embedding_.weight(w));
    }

    Options options_;
    Embedding embedding_;
    Dropout dropout_;
    std::vector<EncoderLayer> encoder_;
    std::vector<DecoderLayer> decoder_;
    std::optional<LayerNorm> encoder_norm_, decoder_norm_;
};

ModelPtr make_transformer(const Options& o, const ModelContext& context) {
    require_pairs("transformer", context);
    if (o.width % 2 != 0) {
        throw base::UserError("/model/width: " + std::to_string(o.width) +
                              " is odd (a position is encoded as pairs of sine and cosine): choose "
                              "an even number");
    }
    require_heads(o.heads, o.width);
    return std::make_unique<Transformer>(o, context);
}

}  // namespace

ModelEntry transformer_model() {
    return {"transformer",
            "Transformer (Vaswani et al. 2017) for pairs of sentences: encoder and decoder",
            make_transformer};
}

}  // namespace dbench::train
