#include "train/models/layers/fused_attention.hpp"

#include "base/error.hpp"
#include "train/mapped.hpp"

namespace dbench::train {
namespace {

torch::Tensor one_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const AttentionOptions& o) {
    return torch::scaled_dot_product_attention(q, k, v, o.mask, o.dropout, o.causal, o.scale,
                                               o.grouped);
}

/// Returns the mask with as many dimensions as the query, so that its first one is that of the
/// samples.
torch::Tensor with_dimensions(torch::Tensor mask, int64_t dimensions) {
    while (mask.dim() < dimensions) mask = mask.unsqueeze(0);
    return mask;
}

}  // namespace

torch::Tensor fused_attention(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const AttentionOptions& options) {
    const torch::Tensor* sliced = nullptr;
    for (const torch::Tensor* each : {&q, &k, &v}) {
        if (at::functorch::isBatchedTensor(*each)) sliced = each;
    }
    if (sliced == nullptr && options.mask && at::functorch::isBatchedTensor(*options.mask)) {
        sliced = &*options.mask;
    }
    if (sliced == nullptr) return one_attention(q, k, v, options);
    DBENCH_EXPECT(options.dropout == 0 && q.dim() == 4);
    const int64_t samples = q.size(0);
    AttentionOptions joined_options = options;
    if (options.mask) joined_options.mask = with_dimensions(*options.mask, q.dim());
    const JoinedSlices slices(*sliced);
    torch::Tensor seen;
    {
        const torch::Tensor queries = slices.join(q, samples), keys = slices.join(k, samples),
                            values = slices.join(v, samples);
        if (options.mask) joined_options.mask = slices.join(*joined_options.mask, samples);
        const OutsideOfVmap outside;
        seen = one_attention(queries, keys, values, joined_options);
    }
    return slices.split(seen);
}

}  // namespace dbench::train
