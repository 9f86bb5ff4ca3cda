#pragma once
// Layers of models for texts, as values like those of layers.hpp: B samples of T tokens. Names,
// order and initial distributions are those of torch.nn where nothing else is asked for.

#include <string>
#include <vector>

#include "train/models/layers/initial.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// A row of the weight for every token: (B, T) to (B, T, width). The weight (tokens, width) may be
/// that of a linear layer too, which is then `tied` to it.
class Embedding {
public:
    Embedding(Declaration& declaration, const std::string& name, int64_t tokens, int64_t width,
              const Initial& initial, bool tied);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& tokens) const;
    const torch::Tensor& weight(const Weights& weights) const {
        return weights.parameters[weight_];
    }

private:
    int weight_;
    bool tied_;
};

/// Normalisation over the last dimension, eps 1e-5.
class LayerNorm {
public:
    LayerNorm(Declaration& declaration, const std::string& name, int64_t width);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x) const;

private:
    int64_t width_;
    int weight_, bias_;
};

/// In training, zeros with probability p, the rest divided by 1 - p.
class Dropout {
public:
    Dropout(Declaration& declaration, double p);
    torch::Tensor operator()(const torch::Tensor& x, bool training) const;

private:
    double p_;
};

/// torch.nn.LSTM with `layers` layers and dropout between them: (B, T, in) to (B, T, hidden). Its
/// state is zero where a sample begins. With `stream_batch` B not 0, samples of B go on in the next
/// batch, and the state is carried over where weights have room for it, without its history.
class Lstm {
public:
    struct Options {
        int64_t in, hidden, layers;
        double dropout = 0;
        int64_t stream_batch = 0;
    };
    Lstm(Declaration& declaration, const std::string& name, const Options& options);
    torch::Tensor operator()(const Weights& weights, const torch::Tensor& x, bool training) const;

private:
    Options options_;
    std::vector<int> parameters_;  ///< of each layer: W_ih, W_hh, b_ih, b_hh; gates i, f, g, o
    int hidden_ = -1, cell_ = -1;  ///< what is carried, each (layers, B, hidden)
};

/// What a position sees: itself and those before it, or what is `shown`, true where something is
/// seen, of a shape that broadcasts to (B, heads, T, S); undefined: everything.
struct AttentionMask {
    bool causal = false;
    torch::Tensor shown = {};
};

/// softmax(q k^T / sqrt(width / heads)) v for each head, its parts of the widths side by side: q
/// (B, T, width) to the same shape, k and v (B, S, width). `dropout` of the softmax.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        int64_t heads, const AttentionMask& mask, double dropout);

}  // namespace dbench::train
