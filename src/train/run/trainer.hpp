#pragma once
// The training loop: iterations 0 .. T-1 of all local replicas, evaluation between them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

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

struct TrainerPlan : base::RunLength {
    int64_t first = 0;             ///< iteration to begin with; not 0 where a run goes on
    int64_t evaluate_every = 0;    ///< iterations; 0: only the initial and the final state
    int64_t checkpoint_every = 0;  ///< iterations; 0: only when a signal ends the run
    int64_t train_samples = 0;     ///< N
    arena::DType type = arena::DType::float32;
    bool stop_on_nonfinite = false;
    int64_t apart = 1;  ///< iterations that ranks may be apart before recording or signals hold one
    algorithms::ProfilePlan profile;
};

/// What a run is made of; everything outlives the trainer.
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
    const base::Stopwatch& clock;  ///< of the run, over restarts
    /// Writes a checkpoint after so many iterations. Collective; throws RunError.
    std::function<void(int64_t completed)> checkpoint;
};

/// Trains from the replicas' present state. Collective. Returns the name of the signal that ended
/// the run early, after a checkpoint on which all ranks agreed; empty where the run is complete.
/// Throws RunError where a replica's loss is not finite and the plan says stop.
std::string train(const TrainerParts& parts, const TrainerPlan& plan);

}  // namespace dbench::train
