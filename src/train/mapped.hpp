#pragma once
// LibTorch's vmap: one operation for many slices of a tensor, and operations outside of it.

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "train/torch.hpp"

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

/// Hides operations from LibTorch's vmap during its lifetime: vmap refuses custom autograd
/// functions in C++ and cannot batch some operations, whatever tensors they are given.
class OutsideOfVmap {
public:
    OutsideOfVmap() : layer_(at::functorch::popDynamicLayer()) {}
    ~OutsideOfVmap() { at::functorch::pushDynamicLayer(std::move(layer_)); }
    OutsideOfVmap(const OutsideOfVmap&) = delete;
    OutsideOfVmap& operator=(const OutsideOfVmap&) = delete;

private:
    at::functorch::DynamicLayer layer_;
};

/// The slices of tensors, joined one after another along their first dimension: for operations that
/// treat the entries of this dimension separately.
class JoinedSlices {
public:
    /// `each`: one of the tensors that vmap batches now.
    explicit JoinedSlices(const torch::Tensor& each) {
        const auto* const batched = at::functorch::maybeGetBatchedImpl(each);
        DBENCH_EXPECT(batched != nullptr);
        level_ = batched->level();
        slices_ = batched->value().size(batched->bdim());
    }
    /// Returns all slices of x, (slices x first, ...). If x has no slices, it is repeated. The
    /// first dimension of a slice is `first`, or 1, which is then repeated.
    torch::Tensor join(const torch::Tensor& x, int64_t first) const {
        const auto* const batched = at::functorch::maybeGetBatchedImpl(x);
        const torch::Tensor all =
            batched ? batched->value().movedim(batched->bdim(), 0) : x.unsqueeze(0);
        std::vector<int64_t> shape = all.sizes().vec();
        shape[0] = slices_;
        shape[1] = first;
        return all.expand(shape).flatten(0, 1);
    }
    /// Returns the slices of joined ones, as vmap batches them.
    torch::Tensor split(const torch::Tensor& joined) const {
        return at::functorch::makeBatched(joined.unflatten(0, {slices_, -1}), 0, level_);
    }

private:
    int64_t level_, slices_;
};

}  // namespace dbench::train
