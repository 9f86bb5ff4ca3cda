#pragma once  // Private to train/passes.
// Copies of convolution weights in channels-last order, which cuDNN requires for channels-last
// inputs. Rows store weights with channels first. LibTorch would reorder each weight in forward and
// in backward, and reorder its gradient. A pass on a device begins by reordering all weights in one
// launch.

#include <map>

#include "arena/device/place.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/rows.hpp"
#include "train/torch.hpp"

namespace dbench::train {

class ChannelsLastWeights {
public:
    /// Allocates memory for `passes` concurrent passes at `place`. `layout` must outlive this
    /// object. If `wanted` is false no tensor is reordered.
    ChannelsLastWeights(const arena::Layout& layout, const arena::Place& place, arena::DType type,
                        int64_t passes, bool wanted);

    bool empty() const { return at_.empty(); }
    /// Returns the layout's tensor k in the memory of a pass; undefined if the tensor is not
    /// reordered.
    torch::Tensor leaf(size_t k, int64_t pass, torch::Device torch_device) const;
    /// Launches the reordering of row i of x into the memory of `pass`.
    void reorder(const arena::Rows& x, int64_t i, int64_t pass, arena::Queue& queue) const;
    /// Returns the memory of a pass, as one row.
    arena::Rows memory(int64_t pass) const { return memory_.rows().only(pass); }

private:
    const arena::Layout& layout_;
    arena::Layout own_;
    std::map<size_t, int64_t> at_;  // first column in own_, by tensor number
    arena::Buffer memory_;
};

}  // namespace dbench::train
