#pragma once
// What a run will take, before it starts.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/step/delays.hpp"
#include "algorithms/step/stepper.hpp"
#include "arena/layout.hpp"
#include "comm/placement.hpp"
#include "data/loader.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

struct Estimates {
    int64_t iterations = 0, per_epoch = 0;
    double left_out = 0;                ///< share of training samples no batch takes in an epoch
    int64_t memory_bytes = 0;           ///< of the rank with most replicas, without activations
    int64_t received_bytes = 0;         ///< of that: received rows kept during the gradient (AWC),
                                        ///< or messages for single neighbours, made and received
    int64_t link_message_bytes = 0;     ///< Algorithm::link_message_bytes
    int64_t data_bytes = 0;             ///< of it: training images on the device
    double bytes_per_step = 0;          ///< sent by all replicas for training
    double profile_bytes_per_step = 0;  ///< for exact variance, by all ranks
    double evaluation_share = 0;  ///< of the run's arithmetic, a forward being a third of a step
    /// Seconds that the spec's /delays add to an iteration, on the mean: of a replica, of the rank
    /// that they hold up most, and of whichever is the slowest in an iteration.
    double replica_delay = 0, rank_delay = 0, slowest_delay = 0;
};

/// What they depend on.
struct Estimated {
    const comm::Placement& placement;
    const TrainerPlan& plan;
    const data::BatchPlan& batches;
    const arena::Layout& layout;
    const algorithms::Stepper& stepper;
    const algorithms::Delays& delays;
    int64_t buffer_columns;      ///< of a replica's BatchNorm statistics and carried state
    int64_t evaluated_models;    ///< local ones, and the mean
    int64_t evaluation_samples;  ///< of an evaluation, for each model
};

/// Mean over the run's iterations, or the first 1000 (10 with very many replicas), of the slowest
/// rank's delay: what delays cost where all ranks wait for one another in every iteration. In
/// seconds.
double slowest_delay(const algorithms::Delays& delays, const comm::Placement& placement,
                     int64_t iterations);

/// Collective (exchange plans are made).
Estimates estimate(const Estimated& run);

/// What is unusual about the spec, for people: samples left out, costly evaluation, ...
std::vector<std::string> warnings(const Estimated& run, const Estimates& estimates);

}  // namespace dbench::train
