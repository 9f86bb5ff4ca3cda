#pragma once
// A copy of a minibatch that outlives the loader's buffer, for work that starts, or is copied to a
// GPU, after the loader has reused its buffer.

#include "data/loader.hpp"
#include "train/batches/batch_memory.hpp"

namespace dbench::train {

/// Owns the copy. Executor keeps it alive until the submitted work has read it.
class OwnedBatch {
public:
    /// Copies the minibatch; into pinned memory if `pinned`, which a GPU reads without the host.
    OwnedBatch(const data::Batch& batch, bool pinned);
    OwnedBatch(const OwnedBatch&) = delete;
    OwnedBatch& operator=(const OwnedBatch&) = delete;

    const data::Batch& batch() const { return batch_; }
    /// Replaces the inputs by those at `inputs`, in the device's memory.
    void set_inputs(void* inputs) {
        batch_.inputs = inputs;
        batch_.on_device = true;
    }

private:
    data::Batch batch_;
    BatchMemory inputs_, labels_, targets_;
};

}  // namespace dbench::train
