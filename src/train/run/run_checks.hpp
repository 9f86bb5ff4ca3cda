#pragma once
// Whether what a spec names can work together over the whole run; bounded work, however long that
// is.

#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/optimizers/optimizer.hpp"
#include "comm/world/world.hpp"
#include "data/loader.hpp"
#include "graphs/schedules/staged.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

class Model;

/// Throws UserError where rows would travel in 16 bits that MPI's own sums do not know.
void check_message(const RunSpec& spec);

/// How sums over replicas are computed. Left to us: by the library between cards, whose own sums
/// are the fastest there, where it can; else along the tree.
comm::Reduction choose_reduction(const RunSpec& spec, const comm::World& world);

/// Throws UserError where models would compute in bfloat16 from parameters in float64.
void check_compute(const RunSpec& spec);

/// Throws UserError where a rate is 0. `algorithm` names one that divides by it.
void check_rates(const algorithms::LearningRate& rates, const std::string& algorithm);

/// A controller may average again only where the algorithm, called `name`, can. Throws UserError.
void check_controller(const graphs::Staged& staged, const algorithms::Algorithm& algorithm,
                      const std::string& name, int64_t iterations);

/// What does not go together with an asynchronous algorithm, called `name`; `staged` is what in its
/// graph goes from graph to graph, or null. Throws UserError.
void check_asynchronous(const comm::World& world, int64_t replicas, const RunSpec& spec,
                        const graphs::Staged* staged, const std::string& name);

/// Outputs for real targets have no temperature. `algorithm` is called `name`; `classes` is 0 for
/// such targets. Throws UserError.
void check_temperature(const algorithms::Algorithm& algorithm, const std::string& name,
                       int64_t classes);

/// Label smoothing and parts of a batch need the gradients of a loss over classes, taken from it
/// alone. `row`: of the algorithm. Throws UserError.
void check_passes(double smoothing, int64_t parts, const algorithms::AlgorithmEntry& row,
                  const Model& model, const data::Dataset& train, const data::BatchPlan& batches);

/// State can be carried through evaluated texts where it is in training. Throws UserError.
void check_carried(const Model& model);

/// BatchNorm has no Jacobian of a single sample, and messages are of one size only where
/// minibatches are. `algorithm` names one that linearises the model. Throws UserError.
void check_linearised(const Model& model, const data::Dataset& train,
                      const data::BatchPlan& batches, const std::string& algorithm);

/// Whether a run of so many iterations never exchanges anything. Looked at are the first
/// iterations from which on that can be; one that exchanges after thousands of silent rounds,
/// which no graph has, counts as one that exchanges.
bool never_exchanges(const algorithms::Algorithm& algorithm, const graphs::Schedule& schedule,
                     int64_t iterations);

}  // namespace dbench::train
