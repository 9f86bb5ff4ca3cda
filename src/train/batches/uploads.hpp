#pragma once
// Minibatches on their way to a device that computes elsewhere than where they were made: on a
// queue of their own, while the pass before is computed.

#include <torch/torch.h>

#include <array>
#include <memory>
#include <optional>

#include "train/batches/fixed_batch.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

class Uploads {
public:
    /// Smaller ones cost less than what orders them, and go with the pass.
    static constexpr int64_t kLeast = 256 * 1024;

    /// Null where the device has no queue for that.
    static std::unique_ptr<Uploads> of(Device& device, torch::Device place);

    /// The minibatch, in memory from which the device reads by itself, as what is launched on
    /// `queue` until `used` finds it on the device; as it is where it is small, or there already.
    std::shared_ptr<const data::Batch> bring(std::shared_ptr<const data::Batch> held,
                                             arena::Queue& queue);
    /// What has been launched on `queue` is all that reads the last one.
    void used(arena::Queue& queue);

private:
    struct Place {
        std::shared_ptr<const FixedBatch> batch;
        std::optional<arena::Event> used;
    };

    Uploads(Device& device, torch::Device place, arena::Queue& queue)
        : device_(device), place_(place), queue_(queue) {}

    Device& device_;
    torch::Device place_;
    arena::Queue& queue_;
    std::array<Place, 3> places_;  // one is read, one has come, one is on its way
    size_t next_ = 0;
    Place* last_ = nullptr;
};

}  // namespace dbench::train
