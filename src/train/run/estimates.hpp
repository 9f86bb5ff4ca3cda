#pragma once  // Private to train/run.
// Estimates of a run's memory, traffic and delays, computed before it starts. `dbench check` prints
// them.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/compatibility.hpp"
#include "algorithms/step/delays.hpp"
#include "algorithms/step/stepper.hpp"
#include "arena/layout.hpp"
#include "comm/placement.hpp"
#include "data/loader.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

struct Estimates {
    int64_t iterations = 0, per_epoch = 0;
    double left_out = 0;         ///< Share of the training samples that no batch of an epoch holds.
    int64_t memory_bytes = 0;    ///< On the rank with most replicas, without activations.
    int64_t received_bytes = 0;  ///< Part of it: received rows kept during the gradient (AWC), or
                                 ///< messages to and from single neighbours.
    int64_t link_message_bytes = 0;     ///< Algorithm::link_message_bytes
    int64_t data_bytes = 0;             ///< Part of it: training images on the device.
    double bytes_per_step = 0;          ///< Sent by all replicas for training.
    double profile_bytes_per_step = 0;  ///< Sent by all ranks for the exact variance.
    /// Share of the run's arithmetic; a forward pass counts as a third of a step.
    double evaluation_share = 0;
    /// Mean seconds that the spec's /delays add to an iteration: for one replica, for the rank with
    /// the longest delay, and for the rank that is the slowest in each iteration.
    double replica_delay = 0, rank_delay = 0, slowest_delay = 0;
};

/// The inputs of an estimate.
struct EstimateInputs {
    const comm::Placement& placement;  ///< The planned one; it may have more ranks than this run.
    const TrainerPlan& plan;
    const data::BatchPlan& batches;
    const arena::Layout& layout;
    const algorithms::Stepper& stepper;
    const algorithms::Delays& delays;
    const algorithms::Facts& combination;  ///< With the algorithm's traits.
    arena::ElementCodec codec;             ///< The codec of rows in messages.
    int64_t buffer_columns;      ///< One replica's BatchNorm statistics and carried state.
    int64_t evaluated_models;    ///< Local models and the mean model.
    int64_t evaluation_samples;  ///< Samples per model in one evaluation.
    double samples_per_step;     ///< Samples of all replicas in one step; the mean if it varies.
};

/// Mean of the slowest rank's delay in seconds, over the first 1000 iterations (fewer, but at least
/// 10, if there are more than 1000 replicas) or all of a shorter run. This is the cost of delays if
/// all ranks wait for one another in every iteration.
double slowest_delay(const algorithms::Delays& delays, const comm::Placement& placement,
                     int64_t iterations);

/// Collective: creates exchange plans.
Estimates estimate(const EstimateInputs& run);

/// Returns warnings about unusual specs: samples left out, costly evaluation, ...
std::vector<std::string> warnings(const EstimateInputs& run, const Estimates& estimates);

}  // namespace dbench::train
