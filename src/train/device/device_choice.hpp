#pragma once
// The values of the spec's key `device`.

#include <cstdint>

namespace dbench::train {

/// The device on which replicas train. `automatic`: a GPU if this build and this host can use one.
enum class DeviceChoice : uint8_t { automatic, cpu, cuda };

}  // namespace dbench::train
