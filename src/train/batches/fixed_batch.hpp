#pragma once
// A minibatch at a fixed address. Captured passes read it there, and every minibatch is copied to
// it before the replay (captured_passes.hpp, uploads.hpp).

#include <memory>
#include <vector>

#include "arena/device/queue.hpp"
#include "data/loader.hpp"
#include "train/torch.hpp"

namespace dbench::train {

class Device;

/// Device memory for minibatches of one shape. fill() replaces the contents.
class FixedBatch {
public:
    /// Allocates memory at `torch_device` for minibatches of the same shape as `like`; the contents
    /// are zeros. Inputs that were gathered from windows (resident_images.hpp) are not copied but
    /// read at their own address, so all later minibatches must have theirs at that address too.
    FixedBatch(const data::Batch& like, torch::Device torch_device);

    /// True if the minibatch can be copied here: it differs from the first one only in its values,
    /// and its inputs have the same address if they are read there.
    bool fits(const data::Batch& batch) const;
    /// Copies a minibatch that fits. This is LibTorch's work, to be submitted to the device; the
    /// minibatch must live until the copy is done.
    void fill(const data::Batch& batch) const;

    const data::Batch& batch() const { return batch_; }
    /// The memory that work on batch() reads.
    std::vector<arena::Access> reads() const;
    /// The memory that fill() touches.
    std::vector<arena::Access> filled_from(const data::Batch& batch) const;

    /// Makes a FixedBatch on the queue that will fill it: LibTorch zeroes new memory on the current
    /// stream, and the memory belongs to that stream.
    static std::shared_ptr<const FixedBatch> make_on(arena::Queue& queue, Device& device,
                                                     const data::Batch& like,
                                                     torch::Device torch_device);

private:
    torch::Device torch_device_;
    data::Batch batch_;
    torch::Tensor inputs_, labels_, targets_;  // bytes; undefined if the batch has no such data
};

}  // namespace dbench::train
