#pragma once
// The values of the spec's keys `device` and `share_gpus`.

#include <cstdint>

namespace dbench::train {

/// The device on which replicas train. `automatic`: a GPU if this build and this host can use one.
enum class DeviceChoice : uint8_t { automatic, cpu, cuda };
/// The value of the key `share_gpus`: whether ranks may use the same GPU.
enum class GpuSharing : uint8_t { refused, allowed };

}  // namespace dbench::train
