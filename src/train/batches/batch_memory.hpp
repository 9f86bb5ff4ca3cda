#pragma once
// Host memory of a minibatch, which a GPU may still be reading.

#include <cstdint>

#include "train/torch.hpp"

namespace dbench::train {

/// One block of host memory, which is reused while its size does not change.
class BatchMemory {
public:
    /// `pinned`: a GPU can read the memory without the host.
    explicit BatchMemory(bool pinned)
        : options_(torch::TensorOptions(torch::kUInt8).pinned_memory(pinned)) {}
    /// Leaks the memory if an exception is being unwound. LibTorch records an event when pinned
    /// memory is freed, and terminates the process if a GPU that has failed cannot record it.
    ~BatchMemory();
    BatchMemory(const BatchMemory&) = delete;
    BatchMemory& operator=(const BatchMemory&) = delete;

    /// Returns `count` bytes: the block of the last call if that had the same size.
    void* bytes(int64_t count);

private:
    torch::TensorOptions options_;
    torch::Tensor memory_;
};

}  // namespace dbench::train
