#pragma once  // Private to train/run.
// The facts about a run from which algorithms/compatibility.hpp decides whether its parts can work
// together. Each function does bounded work, independent of the run's length.

#include <cstdint>

#include "algorithms/algorithm.hpp"
#include "algorithms/compatibility.hpp"
#include "comm/world/world.hpp"
#include "data/loader.hpp"
#include "graphs/schedules/staged.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// Return the facts about parts of a run.
algorithms::ArithmeticFacts arithmetic_facts(const RunSpec& spec);
algorithms::DataFacts data_facts(const data::Dataset& train, const data::BatchPlan& batches);
/// `microbatches` is their number in a minibatch.
algorithms::PassFacts pass_facts(const RunSpec& spec, int64_t microbatches, bool on_host);
/// Computes what follows from the schedule alone; `staged` is its part that changes the graph, or
/// null.
algorithms::ScheduleFacts schedule_facts(const graphs::StagedSchedule* staged, int64_t iterations);

/// Chooses how sums over replicas are computed. "auto": by the library between GPUs if it can add
/// the rows (NCCL is the fastest there), else along the fixed tree.
comm::Reduction choose_reduction(const RunSpec& spec, const comm::World& world);

/// True if a run of `iterations` iterations never exchanges anything. Checks at most 4096
/// iterations from the first that can exchange. A schedule that exchanges only after more silent
/// rounds than that (no graph does) counts as exchanging.
bool never_exchanges(const algorithms::Algorithm& algorithm, const graphs::Schedule& schedule,
                     int64_t iterations);

}  // namespace dbench::train
