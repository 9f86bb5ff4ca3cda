#pragma once
// How minibatches pass a model.

#include <cstdint>

#include "train/spec/run_spec.hpp"

namespace dbench::train {

class ResidentImages;

/// How a minibatch becomes a gradient.
struct Passes {
    /// Where the model draws random numbers, they are keyed by it, the replica, the iteration and,
    /// from the second on, the part.
    uint64_t dropout_seed = 0;
    int64_t parts = 1;     ///< of a minibatch, which pass the model one after another
    double smoothing = 0;  ///< see Model::loss
    /// How `gradients` take a rank's replicas, where it has several; not `any`.
    Stacking stacking = Stacking::off;
    ResidentImages* resident = nullptr;  ///< that minibatches may be windows of
    int64_t captured = 0;  ///< passes of `gradients` that are captured, at most (CapturedPasses)
};

}  // namespace dbench::train
