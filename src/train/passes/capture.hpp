#pragma once
// Whether the passes of a rank's replicas are captured (captured_passes.hpp).

#include <string>

#include "algorithms/algorithm.hpp"
#include "data/loader.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

class Device;
class Model;

/// Passes that a rank captures at most: each keeps some MiB of a card's memory.
inline constexpr int64_t kMostCaptured = 128;

/// Why passes cannot be captured; "" where they can. `parts` of a minibatch; `row`: of the
/// algorithm.
std::string capture_obstacle(const Device& device, const Model& model, const data::Dataset& train,
                             const data::BatchPlan& batches, int64_t parts,
                             const algorithms::AlgorithmEntry& row);

/// The same of passes side by side on queues of their own.
std::string capture_obstacle_beside(const Model& model);

struct CaptureChoice {
    bool captured;
    std::string reason;  ///< where it is not just what the spec says; else ""
};
/// What the spec asks for; "auto": where it can be. Throws UserError where an obstacle, "" for
/// none, forbids what is asked for.
CaptureChoice choose_capture(Capture wanted, std::string obstacle);

}  // namespace dbench::train
