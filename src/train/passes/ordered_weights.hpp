#pragma once
// Weights of convolutions as cuDNN takes them where channels are last: in rows they have channels
// first, and LibTorch would bring each of them in order forward, in backward, and its gradient
// back. A pass on a device begins by bringing all of them, in one launch.

#include <torch/torch.h>

#include <map>

#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"

namespace dbench::train {

class OrderedWeights {
public:
    /// Of a layout that lives on, for so many passes that are under way at a time; none are ordered
    /// where `wanted` is false.
    OrderedWeights(const arena::Layout& layout, arena::DType type, int64_t passes, bool wanted);

    bool empty() const { return at_.empty(); }
    /// The layout's tensor k in the memory of a pass; undefined where it is not ordered.
    torch::Tensor leaf(size_t k, int64_t pass, torch::Device place) const;
    /// Those of row i of x into the memory of a pass.
    void bring(const arena::Rows& x, int64_t i, int64_t pass, arena::Queue* queue) const;
    /// The memory of a pass.
    arena::Rows memory(int64_t pass) const { return memory_.rows().only(pass); }

private:
    const arena::Layout& layout_;
    arena::Layout own_;
    std::map<size_t, int64_t> at_;  // where tensors begin, by their numbers
    arena::Buffer memory_;
};

}  // namespace dbench::train
