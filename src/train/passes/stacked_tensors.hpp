#pragma once  // Private to train/passes.
// Tensors of all local replicas as contiguous arrays [R, shape...], for layers that treat replicas
// as groups of channels. In rows the replicas' tensors are one row apart, and LibTorch would copy
// each tensor. A pass on a device copies all tensors in one launch.

#include <functional>
#include <map>
#include <vector>

#include "arena/device/place.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// Contiguous copies of some tensors of a set of rows.
class StackedTensors {
public:
    /// Allocates memory at `place` for rows like `like`, for the tensors of `layout` for which
    /// `wanted` returns true. `layout` must outlive this object.
    StackedTensors(const arena::Layout& layout, const arena::Place& place, const arena::Rows& like,
                   const std::function<bool(const arena::Tensor&)>& wanted);

    /// Returns the layout's tensor k as (R, shape...); undefined if this object does not hold it.
    torch::Tensor tensor(size_t k, torch::Device torch_device) const;
    /// Launches the copy from the rows into the contiguous tensors, and back.
    void gather(const arena::Rows& from, arena::Queue& queue) const;
    void scatter(const arena::Rows& to, arena::Queue& queue) const;
    /// Returns the memory that gather() writes.
    arena::Access memory() const { return arena::writes(memory_.rows().data, memory_.bytes()); }

private:
    const arena::Layout& layout_;
    int64_t replicas_;
    arena::Layout own_;
    std::map<size_t, size_t> at_;  // tensor numbers in own_, by those in the layout
    arena::Buffer memory_;
};

}  // namespace dbench::train
