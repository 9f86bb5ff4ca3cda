#pragma once
// How the local replicas of a rank pass the model: one by one, side by side on streams of a card,
// or together (StackedPass).

#include <string>

#include "algorithms/algorithm.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "data/loader.hpp"
#include "train/passes/executor.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// Why replicas cannot pass the model so; "" where they can.
struct StackingObstacles {
    std::string streams, batched;
};
/// `parts` of a minibatch; `row`: of the algorithm.
StackingObstacles stacking_obstacles(const Device& device, const Model& model,
                                     const data::Dataset& train, const data::BatchPlan& batches,
                                     int64_t parts, const algorithms::AlgorithmEntry& row);

/// Throws UserError where the spec asks for what an obstacle forbids.
void check_stacking(const RunSpec& spec, const StackingObstacles& obstacles);

struct StackingChoice {
    Stacking way = Stacking::off;  ///< not `any`
    std::string reason;            ///< where it is not just what the spec says; else ""
};
/// What the spec asks for. "auto": of the ways that nothing forbids, the one that takes all ranks
/// together the least time, measured for about a second with `passes` of minibatches like `batch`;
/// the replicas' state stays, their gradients are lost. Collective.
StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const StackingObstacles& obstacles,
                               const Model& model, Replicas& replicas, const Passes& passes,
                               const data::Batch& batch);

/// As the spec has it, with the reason in brackets where there is one.
std::string to_text(const StackingChoice& choice);

}  // namespace dbench::train
