#pragma once  // Private to train/run.
// The training loops of asynchronous algorithms. Replicas wait for one another only at barriers.

#include <string>

#include "algorithms/step/timeline.hpp"
#include "data/loader.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

/// Returns the first barrier after iteration t, in [t + 1, T]. A barrier is an iteration before
/// which every replica waits until all have completed the iterations before it: each iteration that
/// is profiled, each that an evaluation or a checkpoint precedes, and the run's end. After 65536
/// iterations without any of these there is a barrier, too, because records are kept until then;
/// after fewer if this process has more than 128 `replicas`, so that records take 256 MiB at most.
int64_t next_barrier(const TrainerPlan& plan, int64_t t, int64_t replicas);

/// Returns the order in which `train_asynchronously` consumes the minibatches of all replicas.
data::BatchOrder batch_order(const TrainerPlan& plan, const algorithms::ComputeTimes& times,
                             int64_t replicas);

/// Does what `train` does with all replicas in this process, which compute in virtual time. A
/// signal ends the run at a barrier. `times` must be those from which the loader's order was made.
std::string train_asynchronously(const TrainerParts& parts, const TrainerPlan& plan,
                                 const algorithms::ComputeTimes& times);

/// Does the same in real time with one replica per rank. A signal ends the run at an iteration on
/// which all ranks agree. Collective.
std::string train_on_ranks(const TrainerParts& parts, const TrainerPlan& plan);

}  // namespace dbench::train
