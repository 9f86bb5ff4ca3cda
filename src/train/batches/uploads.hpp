#pragma once
// Copies of minibatches to a device, on a queue of their own, concurrently with the pass before.

#include <array>
#include <memory>
#include <optional>

#include "train/batches/fixed_batch.hpp"
#include "train/device/device.hpp"
#include "train/torch.hpp"

namespace dbench::train {

/// Owns the device memory of three minibatches and reuses it round robin. The thread that trains
/// makes all calls, in the order upload(), launches that read the minibatch, used().
class Uploads {
public:
    /// Smaller inputs cost less than the events that order an upload: the pass copies them itself.
    static constexpr int64_t kMinBytes = 256 * 1024;

    /// Returns null if the device has no queue for uploads.
    static std::unique_ptr<Uploads> make(Device& device, torch::Device torch_device);

    /// Launches the copy of a minibatch to the device and returns the copy. Launches on `queue`
    /// until used() find it complete. `batch` must be in memory that the device can read (pinned).
    /// Returns the minibatch itself if it is small or on the device already.
    std::shared_ptr<const data::Batch> upload(std::shared_ptr<const data::Batch> batch,
                                              arena::Queue& queue);
    /// Records that all launches that read the last minibatch are on `queue` now.
    void used(arena::Queue& queue);

private:
    struct Buffer {
        std::shared_ptr<const FixedBatch> batch;
        std::optional<arena::Event> used;
    };

    Uploads(Device& device, torch::Device torch_device, arena::Queue& queue)
        : device_(device), torch_device_(torch_device), queue_(queue) {}

    Device& device_;
    torch::Device torch_device_;
    arena::Queue& queue_;
    std::array<Buffer, 3> buffers_;  // one is read, one has arrived, one is being copied
    size_t next_ = 0;
    Buffer* last_ = nullptr;
};

}  // namespace dbench::train
