#pragma once  // Private to train/run.
// Measures iterations without evaluation, checkpoints and recording: the times of each iteration,
// and when the gradients of each bucket are complete. `dbench calibrate` uses it.

#include <cstdint>
#include <vector>

#include "algorithms/learning_rates/learning_rate.hpp"
#include "algorithms/step/stepper.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/rows.hpp"

namespace dbench::data {
class Loader;
}

namespace dbench::train {

class Executor;
class Replicas;

struct StepMeasurement {
    /// A bucket, and the share of the gradient's time after which it was complete: the mean over
    /// the iterations. What `ready` did with earlier buckets does not count.
    struct BucketReady {
        arena::Columns columns;
        double share;
    };
    std::vector<algorithms::Times> times;  ///< Per iteration.
    /// In the order of backward. Meaningful only if the host computes: a device is told its work
    /// long before it computes.
    std::vector<BucketReady> buckets;
};

/// Runs the iterations 0 .. iterations - 1 of `stepper` from the present state, which they change.
/// `queue` is the step's queue. Collective.
StepMeasurement measure_steps(arena::Queue& queue, Replicas& replicas, Executor& executor,
                              data::Loader& loader, algorithms::Stepper& stepper,
                              const algorithms::LearningRate& learning_rate, int64_t iterations);

}  // namespace dbench::train
