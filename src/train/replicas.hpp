#pragma once
// The local replicas of a run: their parameters, gradients, BatchNorm buffers and carried state as
// rows, and the table of everything that a run would have to restore.

#include <cstdint>
#include <string>

#include "arena/layout.hpp"
#include "arena/state.hpp"
#include "comm/placement.hpp"

namespace dbench::train {

class Device;
class Model;
Device& host_device();

enum class Init { same, independent, zeros };

class Replicas {
public:
    /// Local replicas of `rank`, parameters initialised from the init seed: `same` gives all
    /// replicas replica 0's values, `independent` each its own draw. What other ranks may read in
    /// place lies in `readable` memory, see StateTable. They train on `device`; the host draws.
    Replicas(const Model& model, const comm::Placement& placement, int rank, arena::DType type,
             Init init, uint64_t seed, arena::Memory readable = nullptr,
             Device& device = host_device());

    const arena::Layout& layout() const { return layout_; }
    const arena::Layout& buffer_layout() const { return buffer_layout_; }
    arena::Rows x() const { return state_.parameters(); }  ///< a step may move them
    arena::Rows g() const { return gradient_.rows(); }
    arena::Rows buffers() const { return buffers_; }
    const arena::Layout& carried_layout() const { return carried_layout_; }
    arena::Rows carried() const { return carried_; }
    arena::StateTable& state() { return state_; }
    Device& device() const { return device_; }

private:
    Device& device_;
    arena::Layout layout_, buffer_layout_, carried_layout_;
    arena::StateTable state_;
    arena::Rows buffers_, carried_;
    arena::Buffer gradient_;
};

/// The layout of a model's BatchNorm buffers.
arena::Layout buffer_layout_of(const Model& model);
/// The layout of what it carries from batch to batch.
arena::Layout carried_layout_of(const Model& model);

}  // namespace dbench::train
