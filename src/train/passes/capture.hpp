#pragma once
// The decision whether the passes of a rank's replicas are captured (captured_passes.hpp).

#include <string>

#include "algorithms/algorithm.hpp"
#include "data/loader.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

class Device;
class Model;

/// The largest number of passes that a rank captures: each one occupies some MiB of GPU memory.
inline constexpr int64_t kMaxCaptured = 128;

/// Returns why passes cannot be captured; "" if they can. `parts` is the number of parts of a
/// minibatch, `row` the algorithm's row of the table.
std::string capture_obstacle(const Device& device, const Model& model, const data::Dataset& train,
                             const data::BatchPlan& batches, int64_t parts,
                             const algorithms::AlgorithmEntry& row);

/// Returns why passes that run concurrently, on queues of their own, cannot be captured; "" if they
/// can.
std::string concurrent_capture_obstacle(const Model& model);

struct CaptureChoice {
    bool captured;
    std::string reason;  ///< why, if the spec alone does not say it; else ""
};
/// Decides what the spec requests; "auto": capture if nothing prevents it. `obstacle` is what
/// prevents it, or "". Throws UserError if the spec requests a capture that `obstacle` prevents.
CaptureChoice choose_capture(Capture wanted, std::string obstacle);

}  // namespace dbench::train
