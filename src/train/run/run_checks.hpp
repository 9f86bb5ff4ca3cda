#pragma once  // Private to train/run.
// Checks that the parts which a spec names can work together over the whole run. Each check does
// bounded work, independent of the run's length.

#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/learning_rates/learning_rate.hpp"
#include "comm/world/world.hpp"
#include "data/loader.hpp"
#include "graphs/schedules/staged.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

class Model;

/// Throws UserError if rows should be sent in 16 bits but MPI's library should add them: MPI has no
/// sum of such values.
void check_message(const RunSpec& spec);

/// Chooses how sums over replicas are computed. "auto": by the library between GPUs if it can add
/// the rows (NCCL is the fastest there), else along the fixed tree.
comm::Reduction choose_reduction(const RunSpec& spec, const comm::World& world);

/// Throws UserError if models should compute in bfloat16 from float64 parameters.
void check_compute(const RunSpec& spec);

/// Throws UserError if the learning rate is 0 in some iteration. `algorithm` names an algorithm
/// that divides by it.
void check_rates(const algorithms::LearningRate& rates, const std::string& algorithm);

/// Throws UserError if a controller averages several times in an iteration and the algorithm,
/// called `name`, cannot.
void check_controller(const graphs::StagedSchedule& staged, const algorithms::Algorithm& algorithm,
                      const std::string& name, int64_t iterations);

/// Throws UserError for everything that an asynchronous algorithm, called `name`, cannot be
/// combined with. `staged` is the schedule that changes from graph to graph, or null.
void check_asynchronous(const comm::World& world, int64_t replicas, const RunSpec& spec,
                        const graphs::StagedSchedule* staged, const std::string& name);

/// Throws UserError if an algorithm divides the outputs for real targets by a temperature. `name`
/// is the algorithm's name; `classes` is 0 for real targets.
void check_temperature(const algorithms::Algorithm& algorithm, const std::string& name,
                       int64_t classes);

/// Throws UserError unless label smoothing and accumulation over parts of a batch are possible:
/// both need gradients of a loss over classes, and nothing else from a batch. `row` is the
/// algorithm's entry.
void check_passes(double smoothing, int64_t parts, const algorithms::AlgorithmEntry& row,
                  const Model& model, const data::Dataset& train, const data::BatchPlan& batches);

/// Throws UserError unless the model carries state from batch to batch in training: only then can
/// an evaluation carry it through a text.
void check_carried(const Model& model);

/// Throws UserError unless the model can be linearised: BatchNorm has no Jacobian of a single
/// sample, and messages have one size only if all minibatches have. `algorithm` names one that
/// linearises the model.
void check_linearised(const Model& model, const data::Dataset& train,
                      const data::BatchPlan& batches, const std::string& algorithm);

/// True if a run of `iterations` iterations never exchanges anything. Checks at most 4096
/// iterations from the first that can exchange. A schedule that exchanges only after more silent
/// rounds than that (no graph does) counts as exchanging.
bool never_exchanges(const algorithms::Algorithm& algorithm, const graphs::Schedule& schedule,
                     int64_t iterations);

}  // namespace dbench::train
