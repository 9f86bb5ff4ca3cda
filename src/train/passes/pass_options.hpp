#pragma once  // Private to train/passes.
// The options of forward and backward passes. executor.hpp explains the folder.

#include <cstdint>

#include "train/spec/run_spec.hpp"

namespace dbench::train {

class ResidentImages;

/// The options by which a minibatch becomes a gradient.
struct PassOptions {
    /// Seed of the random numbers that the model draws. Their key holds it, the replica, the
    /// iteration and, from the second micro-batch on, its number.
    uint64_t dropout_seed = 0;
    /// Micro-batches of a minibatch. They run through the model one after another.
    int64_t microbatches = 1;
    double smoothing = 0;  ///< label smoothing, see Model::loss
    /// How Executor::gradients runs a rank's replicas if it has several; not `automatic`.
    Stacking stacking = Stacking::off;
    /// Images on the device of which minibatches may be windows.
    ResidentImages* resident = nullptr;
    int64_t captured = 0;  ///< largest number of captured passes (CapturedPasses)
};

}  // namespace dbench::train
