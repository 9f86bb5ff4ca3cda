#pragma once
// A minibatch that outlives the loader's: for work that begins, or is copied to a card, after the
// loader has gone on.

#include <torch/torch.h>

#include <vector>

#include "data/loader.hpp"

namespace dbench::train {

class HeldBatch {
public:
    /// Copies it; into pinned memory, from which a card reads without the host.
    HeldBatch(const data::Batch& batch, bool pinned);
    /// Leaves the memory to the process while an error is on its way: LibTorch takes pinned memory
    /// back by events, and ends the process where a card that has failed gives it none.
    ~HeldBatch();
    HeldBatch(const HeldBatch&) = delete;
    HeldBatch& operator=(const HeldBatch&) = delete;

    const data::Batch& batch() const { return batch_; }
    /// Its inputs lie there, where the model computes.
    void inputs_are(void* inputs) {
        batch_.inputs = inputs;
        batch_.on_device = true;
    }

private:
    void* copy(const void* from, int64_t bytes, bool pinned);

    data::Batch batch_;
    std::vector<torch::Tensor> memory_;
};

}  // namespace dbench::train
