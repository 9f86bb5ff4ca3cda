#pragma once
// A minibatch that outlives the loader's: for work that begins, or is copied to a card, after the
// loader has gone on.

#include "data/loader.hpp"
#include "train/batches/held_memory.hpp"

namespace dbench::train {

class HeldBatch {
public:
    /// Copies it; into pinned memory, from which a card reads without the host.
    HeldBatch(const data::Batch& batch, bool pinned);
    HeldBatch(const HeldBatch&) = delete;
    HeldBatch& operator=(const HeldBatch&) = delete;

    const data::Batch& batch() const { return batch_; }
    /// Its inputs lie there, where the model computes.
    void inputs_are(void* inputs) {
        batch_.inputs = inputs;
        batch_.on_device = true;
    }

private:
    data::Batch batch_;
    HeldMemory inputs_, labels_, targets_;
};

}  // namespace dbench::train
