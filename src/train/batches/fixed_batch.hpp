#pragma once
// Memory for one minibatch after another, for work that a device has captured and that finds each
// of them where the first one was.

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "arena/device/queue.hpp"
#include "data/loader.hpp"

namespace dbench::train {

class Device;

class FixedBatch {
public:
    /// Room at `place` for minibatches like this one; nothing stands there yet. Inputs that were
    /// gathered from windows are read where they are: all others have to come to the same memory.
    FixedBatch(const data::Batch& like, torch::Device place);

    /// Whether the minibatch differs from the first one in nothing but its numbers, and lies there
    /// if that is where it is read.
    bool fits(const data::Batch& batch) const;
    /// LibTorch's work: copies one that fits, from memory that stays until that is done.
    void fill(const data::Batch& batch) const;

    const data::Batch& batch() const { return batch_; }
    /// What work over it reads, and what `fill` touches.
    std::vector<arena::Access> reads() const;
    std::vector<arena::Access> filled_from(const data::Batch& batch) const;

    /// One that is made on the queue that is going to fill it: LibTorch's memory, which it zeroes,
    /// belongs to the stream that asks for it.
    static std::shared_ptr<const FixedBatch> made_on(arena::Queue* queue, Device& device,
                                                     const data::Batch& like, torch::Device place);

private:
    torch::Device place_;
    data::Batch batch_;
    torch::Tensor inputs_, labels_, targets_;  // bytes; undefined where a batch has none
};

}  // namespace dbench::train
