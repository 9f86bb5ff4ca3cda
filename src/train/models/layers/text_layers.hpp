#pragma once
// Layers of models for texts, as values like those of layers.hpp, for B samples of T tokens. Names,
// order and initial distributions are those of torch.nn unless a constructor argument says
// otherwise.

#include <string>
#include <vector>

#include "train/models/layers/initial.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

/// Maps every token to a row of the weight: (B, T) to (B, T, width). `tied`: a linear layer uses
/// the weight (tokens, width) as well.
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

/// In training, sets elements to zero with probability p and divides the others by 1 - p.
class Dropout {
public:
    Dropout(Declaration& declaration, double p);
    torch::Tensor operator()(const torch::Tensor& x, bool training) const;

private:
    double p_;
};

/// torch.nn.LSTM with `layers` layers and dropout between them: (B, T, in) to (B, T, hidden). The
/// state is zero at the start of a sample. If `stream_batch` is not 0, it is B, and samples
/// continue in the next batch: the state is carried if the weights have memory for it, without its
/// autograd history.
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
    std::vector<int> parameters_;  ///< Per layer: W_ih, W_hh, b_ih, b_hh; gates i, f, g, o.
    int hidden_ = -1, cell_ = -1;  ///< Indices of the carried state, each (layers, B, hidden).
};

/// The positions that a position attends to: with `causal` itself and those before it, else those
/// for which `visible` is true. `visible` broadcasts to (B, heads, T, S); if it is undefined, all
/// positions are attended to.
struct AttentionMask {
    bool causal = false;
    torch::Tensor visible = {};
};

/// Returns softmax(q k^T / sqrt(width / heads)) v of each head; heads are consecutive parts of the
/// width. q (B, T, width) is mapped to the same shape; k and v are (B, S, width). `dropout` applies
/// to the softmax.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        int64_t heads, const AttentionMask& mask, double dropout);

}  // namespace dbench::train
