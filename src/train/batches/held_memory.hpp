#pragma once
// Memory of a minibatch that a card may still read.

#include <torch/torch.h>

#include <cstdint>

namespace dbench::train {

class HeldMemory {
public:
    /// Pinned memory is what a card reads without the host.
    explicit HeldMemory(bool pinned)
        : options_(torch::TensorOptions(torch::kUInt8).pinned_memory(pinned)) {}
    /// Leaves the memory to the process while an error is on its way: LibTorch takes pinned memory
    /// back by events, and ends the process where a card that has failed gives it none.
    ~HeldMemory();
    HeldMemory(const HeldMemory&) = delete;
    HeldMemory& operator=(const HeldMemory&) = delete;

    /// So many bytes: those of the last call, if they were as many.
    void* bytes(int64_t count);

private:
    torch::TensorOptions options_;
    torch::Tensor memory_;
};

}  // namespace dbench::train
