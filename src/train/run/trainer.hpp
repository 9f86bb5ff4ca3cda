#pragma once  // Private to train/run.
// The training loop of synchronous algorithms: iterations 0 .. T-1 of all local replicas, with
// evaluations and checkpoints in between. Session::train calls it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "algorithms/learning_rates/learning_rate.hpp"
#include "algorithms/step/delays.hpp"
#include "algorithms/step/observer.hpp"
#include "algorithms/step/stepper.hpp"
#include "base/clock.hpp"
#include "base/run_length.hpp"
#include "comm/exchange/exchange.hpp"
#include "data/loader.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"

namespace dbench::train {

/// The length of a run and the iterations at which it evaluates, writes checkpoints and
/// synchronises its ranks. Session fills it in from the spec (run_plan.hpp).
struct TrainerPlan : base::RunLength {
    int64_t first = 0;           ///< First iteration; not 0 if the run continues from a checkpoint.
    int64_t evaluate_every = 0;  ///< In iterations; 0: only the initial and the final state.
    int64_t checkpoint_every = 0;  ///< In iterations; 0: only if a signal ends the run.
    int64_t train_samples = 0;     ///< N, the size of the training set.
    arena::DType type = arena::DType::float32;
    bool stop_on_nonfinite = false;
    /// Minimum number of iterations between two flushes of records, and between two agreements on a
    /// stop: a rank may be ahead of another one by this many iterations without waiting for it.
    int64_t min_sync_interval = 1;
    algorithms::ProfilePlan profile;
};

/// The parts of a run that a training loop uses. All of them outlive the loop.
struct TrainerParts {
    comm::World& world;
    Replicas& replicas;
    Executor& executor;
    data::Loader& loader;
    algorithms::Stepper& stepper;
    Evaluator& evaluator;
    const algorithms::LearningRate& learning_rate;
    const algorithms::Delays& delays;
    algorithms::Observer& observer;
    const base::Stopwatch& clock;  ///< Run time, summed over restarts.
    const base::RunClock& common_clock;
    /// Writes a checkpoint of the state after `completed` iterations. Collective. Throws RunError.
    std::function<void(int64_t completed)> checkpoint;
};

/// Trains from the replicas' present state. Returns "" if the run is complete, else the name of the
/// signal that ended it early; all ranks have then agreed on the iteration and written a
/// checkpoint. Throws RunError if a replica's loss is not finite and the plan says stop.
/// Collective.
std::string train(const TrainerParts& parts, const TrainerPlan& plan);

}  // namespace dbench::train
