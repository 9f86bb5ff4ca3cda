#pragma once
// The decision whether the passes of a rank's replicas are captured (captured_passes.hpp).

#include <string>

#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// The largest number of passes that a rank captures: each one occupies some MiB of GPU memory.
inline constexpr int64_t kMaxCaptured = 128;

struct CaptureChoice {
    bool captured;
    std::string reason;  ///< why, if the spec alone does not say it; else ""
};
/// Decides what the spec requests; "auto": capture if nothing prevents it. `obstacle` is what
/// prevents it (algorithms::capture_obstacle), or "".
CaptureChoice choose_capture(Capture wanted, std::string obstacle);

}  // namespace dbench::train
