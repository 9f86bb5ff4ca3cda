#pragma once
// Attention in LibTorch's fused kernels, for one replica or for all replicas together.

#include <optional>

#include "train/torch.hpp"

namespace dbench::train {

/// The arguments of torch::scaled_dot_product_attention after query, key and value.
struct AttentionOptions {
    /// Broadcasts to (B, heads, T, S): the positions that are attended to if it is boolean, else
    /// numbers that are added to the products of query and key.
    std::optional<torch::Tensor> mask = {};
    double dropout = 0;
    bool causal = false;               ///< A position attends to itself and to those before it.
    std::optional<double> scale = {};  ///< Factor of the products; empty: 1 / sqrt(d).
    bool grouped = false;  ///< Several heads of the query share a head of key and value.
};

/// Returns torch::scaled_dot_product_attention of q (B, heads, T, d), k and v (B, heads, S, d).
/// LibTorch's vmap cannot batch its fused kernels. So if vmap batches any of the tensors, the
/// operation runs once, outside vmap, on all slices one after another along the first dimension;
/// `dropout` must then be 0.
torch::Tensor fused_attention(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const AttentionOptions& options);

}  // namespace dbench::train
