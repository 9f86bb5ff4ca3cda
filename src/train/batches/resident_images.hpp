#pragma once
// Training images that lie in a device's memory, once for all replicas of a rank: a minibatch is
// gathered, cropped, mirrored and normalised there.

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

class ResidentImages {
public:
    /// Copies them to where this process has its rows, for what is launched on `queue`. Inputs are
    /// of `type`, in memory order `order`.
    ResidentImages(const data::StoredImages& images, arena::DType type, data::Order order,
                   arena::Queue* queue = nullptr);

    /// Launches what makes the inputs of a minibatch, the windows of its samples, on `queue`.
    /// Returns where they will be: in the memory of `slot`, which the following minibatch of the
    /// slot takes, behind what is on its queue.
    void* gather(std::span<const arena::Window> windows, size_t slot, arena::Queue* queue);

private:
    arena::DType type_;
    arena::Planes planes_;
    arena::Buffer pixels_, values_;
    arena::Pictures pictures_;           ///< in pixels_
    std::vector<arena::Buffer> inputs_;  ///< by slot
};

/// Whether the training set lies on the device.
struct Residence {
    bool on = false;
    std::string reason;  ///< where it is not just what the spec says; else ""
    int64_t bytes = 0;   ///< of the device's memory, where it is on
};
/// What /data/resident asks for. "auto": on where the samples are stored images and what they need,
/// with `samples` inputs of an iteration, is at most half of what is free now. Throws UserError
/// where "on" is asked for and cannot be.
Residence choose_residence(data::Resident wanted, const data::Dataset& train, const Device& device,
                           arena::DType type, int64_t samples);
std::string to_text(const Residence& residence);

}  // namespace dbench::train
