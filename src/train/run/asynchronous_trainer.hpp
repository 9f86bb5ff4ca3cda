#pragma once
// The training loop of asynchronous algorithms: replicas wait for one another at barriers only.

#include <string>

#include "algorithms/step/timeline.hpp"
#include "data/loader.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

/// The first barrier after iteration t, in [t + 1, T]: an iteration before which all replicas wait
/// until each has ended all before it. These are the iterations that are profiled, those with an
/// evaluation or a checkpoint before them, and the run's end.
int64_t next_barrier(const TrainerPlan& plan, int64_t t);

/// The batches of a run with all its replicas in this process, in the order in which
/// `train_asynchronously` takes them.
data::Asks asks_of(const TrainerPlan& plan, const algorithms::ComputeTimes& times,
                   int64_t replicas);

/// As `train`, replicas computing in virtual time; a signal ends the run at a barrier. `times` are
/// those of the loader's order.
std::string train_asynchronously(const TrainerParts& parts, const TrainerPlan& plan,
                                 const algorithms::ComputeTimes& times);

/// The same with a rank for each replica, in real time; a signal ends the run where all ranks agree
/// to. Collective.
std::string train_on_ranks(const TrainerParts& parts, const TrainerPlan& plan);

}  // namespace dbench::train
