// Attention for all replicas together, against each replica's own: the same bits forward and
// backward, with masks, shared heads and tensors that all replicas share.

#include "train/models/layers/fused_attention.hpp"

#include <functional>

#include "catch.hpp"
#include "train/mapped.hpp"

namespace dbench::train {
namespace {

using torch::Tensor;

constexpr int64_t kReplicas = 3, kSamples = 2, kHeads = 4, kQueries = 5, kKeys = 7, kWidth = 8;

/// Query, key and value of all replicas, (R, B, heads, T, d), in float64.
struct Inputs {
    explicit Inputs(int64_t key_heads = kHeads, int64_t keys = kKeys) {
        torch::manual_seed(1);
        q = made({kReplicas, kSamples, kHeads, kQueries, kWidth});
        k = made({kReplicas, kSamples, key_heads, keys, kWidth});
        v = made({kReplicas, kSamples, key_heads, keys, kWidth});
    }
    static Tensor made(at::IntArrayRef shape) {
        return torch::randn(shape, torch::kFloat64).requires_grad_(true);
    }
    Tensor q, k, v;
};

/// Returns the output of all replicas and the gradients of `leaves`.
std::vector<Tensor> results(const Tensor& output, const std::vector<Tensor>& leaves) {
    torch::manual_seed(2);
    std::vector<Tensor> all =
        torch::autograd::grad({output}, leaves, {torch::randn_like(output)}, false, false, true);
    all.insert(all.begin(), output.detach());
    return all;
}

/// Compares attention of all replicas together with that of each. `options_of(r)` returns the
/// options of replica r, and those for vmap if r is -1; vmap calls it inside its layer.
void compare(const Inputs& in,
             const std::function<AttentionOptions(int64_t r, const Mapped*)>& options_of) {
    Tensor together;
    {
        const Mapped mapped(kReplicas);
        together = Mapped::all(fused_attention(mapped.each(in.q), mapped.each(in.k),
                                               mapped.each(in.v), options_of(-1, &mapped)));
    }
    std::vector<Tensor> apart;
    for (int64_t r = 0; r < kReplicas; ++r) {
        apart.push_back(fused_attention(in.q[r], in.k[r], in.v[r], options_of(r, nullptr)));
    }
    const std::vector<Tensor> leaves = {in.q, in.k, in.v};
    const auto found = results(together, leaves), wanted = results(torch::stack(apart), leaves);
    for (size_t k = 0; k < found.size(); ++k) CHECK(torch::equal(found[k], wanted[k]));
}

TEST_CASE("Attention of all replicas equals that of each") {
    compare(Inputs(), [](int64_t, const Mapped*) { return AttentionOptions{}; });
    compare(Inputs(), [](int64_t, const Mapped*) { return AttentionOptions{.scale = 0.3}; });
    compare(Inputs(kHeads, kQueries),
            [](int64_t, const Mapped*) { return AttentionOptions{.causal = true}; });
    compare(Inputs(2), [](int64_t, const Mapped*) { return AttentionOptions{.grouped = true}; });
}

TEST_CASE("Masks of all replicas together: of each replica, of each sample, and one for all") {
    torch::manual_seed(3);
    const auto drawn = [](at::IntArrayRef shape) {
        Tensor visible = torch::rand(shape) > 0.3;
        visible.select(-1, 0).fill_(true);  // each position attends to one at least
        return visible;
    };
    const Tensor of_replicas = drawn({kReplicas, kSamples, 1, 1, kKeys});
    const Tensor of_positions = drawn({kReplicas, kQueries, kKeys});
    for (const Tensor& masks : {of_replicas, of_positions}) {
        compare(Inputs(), [&](int64_t r, const Mapped* mapped) {
            return AttentionOptions{.mask = mapped ? mapped->each(masks) : masks[r]};
        });
    }
    const Tensor one = drawn({kQueries, kKeys});
    compare(Inputs(), [&](int64_t, const Mapped*) { return AttentionOptions{.mask = one}; });
}

TEST_CASE("Replicas may share the key and the value") {
    const Inputs in;
    const Tensor k = in.k[0], v = in.v[0];
    Tensor together;
    {
        const Mapped mapped(kReplicas);
        together = Mapped::all(fused_attention(mapped.each(in.q), k, v, {}));
    }
    for (int64_t r = 0; r < kReplicas; ++r) {
        CHECK(torch::equal(together[r], fused_attention(in.q[r], k, v, {})));
    }
}

}  // namespace
}  // namespace dbench::train
