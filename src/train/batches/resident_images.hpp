#pragma once
// The folder `batches`: minibatches on their way from the loader (data/loader.hpp) to the pass that
// reads them.
//
// Order of events for a minibatch on a device: the Executor copies the loader's minibatch to pinned
// host memory (OwnedBatch). If the training images are stored on the device (ResidentImages), their
// inputs are gathered there. Otherwise Uploads copies the minibatch to the device on a queue of its
// own, while the pass before is computed. A captured pass copies it to its fixed address
// (FixedBatch). On the host a pass reads the loader's buffer directly.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "data/data_spec.hpp"
#include "data/dataset.hpp"

namespace dbench::train {

class Device;

/// The training images in the device's memory, once for all replicas of a rank. It gathers
/// minibatches there: crops, mirrors and normalises.
class ResidentImages {
public:
    /// Copies the images to the memory of the queue's device, for later launches on `queue`.
    /// Minibatch inputs have type `type` and memory order `order`.
    ResidentImages(const data::StoredImages& images, arena::DType type, data::Order order,
                   arena::Queue& queue);

    /// Launches on `queue` the kernel that makes the inputs of a minibatch from the windows of its
    /// samples. Returns their address, in the memory of `slot`. The next minibatch of the slot
    /// reuses that memory, so all its launches must be on the same queue.
    void* gather(std::span<const arena::Window> windows, size_t slot, arena::Queue& queue);

private:
    arena::DType type_;
    arena::Planes planes_;
    arena::Buffer pixels_, values_;
    arena::Pictures pictures_;           ///< its bytes are in pixels_
    std::vector<arena::Buffer> inputs_;  ///< by slot
};

/// The decision whether the training set is stored on the device.
struct Residence {
    bool on = false;
    std::string reason;  ///< why, if the spec alone does not say it; else ""
    int64_t bytes = 0;   ///< of the device's memory, if `on`
};
/// Decides what /data/resident requests. "auto": on, if the samples are stored images, and they and
/// the inputs of `samples` samples (of one iteration) need at most half of the free device memory.
/// Throws UserError if "on" is requested and impossible.
Residence choose_residence(data::Resident wanted, const data::Dataset& train, const Device& device,
                           arena::DType type, int64_t samples);
/// Returns "on (bytes)", "off" or "off (reason)".
std::string to_text(const Residence& residence);

}  // namespace dbench::train
