#pragma once
// LibTorch's vmap: one operation for many slices of a tensor.

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <torch/torch.h>

#include <vector>

#include "base/error.hpp"

namespace dbench::train {

/// While it lives, LibTorch's vmap is active: computations on each(tensor) apply to every slice of
/// the tensor along its first dimension.
class Mapped {
public:
    explicit Mapped(int64_t slices)
        : level_(at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap, slices,
                                                        at::functorch::RandomnessType::Error)) {}
    ~Mapped() { at::functorch::popDynamicLayerAndDeleteMetadata(); }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;

    torch::Tensor each(const torch::Tensor& all) const {
        return at::functorch::makeBatched(all, 0, level_);
    }
    std::vector<torch::Tensor> each(const std::vector<torch::Tensor>& all) const {
        std::vector<torch::Tensor> out;
        for (const torch::Tensor& tensor : all) out.push_back(each(tensor));
        return out;
    }
    /// Returns the result of every slice as one tensor (slices, ...).
    static torch::Tensor all(const torch::Tensor& each) {
        const auto* batched = at::functorch::maybeGetBatchedImpl(each);
        DBENCH_EXPECT(batched != nullptr);
        return batched->value().movedim(batched->bdim(), 0);
    }

private:
    int64_t level_;
};

}  // namespace dbench::train
