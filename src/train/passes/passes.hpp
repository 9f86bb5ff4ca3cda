#pragma once  // Private to train/passes.
// The options of forward and backward passes. executor.hpp explains the folder.

#include <cstdint>

#include "train/spec/run_spec.hpp"

namespace dbench::train {

class ResidentImages;

/// The options by which a minibatch becomes a gradient.
struct Passes {
    /// Seed of the random numbers that the model draws. Their key holds it, the replica, the
    /// iteration and, from the second part of a minibatch on, the part.
    uint64_t dropout_seed = 0;
    int64_t parts = 1;     ///< of a minibatch, which run through the model one after another
    double smoothing = 0;  ///< label smoothing, see Model::loss
    /// How Executor::gradients runs a rank's replicas if it has several; not `automatic`.
    Stacking stacking = Stacking::off;
    ResidentImages* resident =
        nullptr;           ///< images on the device of which minibatches may be windows
    int64_t captured = 0;  ///< largest number of captured passes (CapturedPasses)
};

}  // namespace dbench::train
