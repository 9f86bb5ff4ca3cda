#pragma once
// The local replicas of a run as rows: parameters, gradients, BatchNorm buffers and carried state,
// with the table of all state that a checkpoint must save. The other folders of train read and
// write these rows; train/passes/executor.hpp describes an iteration.

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

/// Owns the rows of a rank's replicas.
class Replicas {
public:
    /// Makes the local replicas of `rank`. `init` `same` gives all replicas the values of replica
    /// 0, `independent` gives each its own random values, both drawn by the host from `seed`. Rows
    /// that other ranks may read in place are allocated in `peer_readable` memory (see StateTable).
    /// The replicas train on `device`, which must outlive them.
    Replicas(const Model& model, const comm::Placement& placement, int rank, arena::DType type,
             Init init, uint64_t seed, arena::Memory peer_readable = nullptr,
             Device& device = host_device());

    const arena::Layout& layout() const { return layout_; }
    const arena::Layout& buffer_layout() const { return buffer_layout_; }
    arena::Rows x() const { return state_.parameters(); }  ///< a step may move them to other memory
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

/// Returns the layout of a model's BatchNorm buffers.
arena::Layout buffer_layout_of(const Model& model);
/// Returns the layout of the state that a model carries from batch to batch.
arena::Layout carried_layout_of(const Model& model);

}  // namespace dbench::train
