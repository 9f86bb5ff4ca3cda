#pragma once
// Tensors of all local replicas, each one's of all of them side by side, for layers to which
// replicas are groups of channels. In rows they lie a row apart, and LibTorch would copy each. A
// pass on a device brings all of them in one launch.

#include <torch/torch.h>

#include <functional>
#include <map>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

class TensorsSideBySide {
public:
    /// Of rows like these, in a layout that lives on, those tensors that are `wanted`.
    TensorsSideBySide(const arena::Layout& layout, const arena::Rows& like,
                      const std::function<bool(const arena::Tensor&)>& wanted);

    /// (R, shape...) of the layout's tensor k; undefined where it is not here.
    torch::Tensor tensor(size_t k, torch::Device place) const;
    void bring(const arena::Rows& from, arena::Queue* queue) const;
    void take_back(const arena::Rows& to, arena::Queue* queue) const;
    /// What bringing writes.
    arena::Access memory() const { return arena::writes(memory_.rows().data, memory_.bytes()); }

private:
    const arena::Layout& layout_;
    int64_t replicas_;
    arena::Layout own_;
    std::map<size_t, size_t> at_;  // numbers of tensors here, by theirs in the layout
    arena::Buffer memory_;
};

}  // namespace dbench::train
