#pragma once
// The decision how the local replicas of a rank run through the model: one after another,
// concurrently on several streams of a GPU, or together in one pass (StackedPass).

#include <string>

#include "algorithms/algorithm.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "data/loader.hpp"
#include "train/passes/executor.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// The reasons why replicas cannot run on streams, or batched; "" if they can. See
/// algorithms/compatibility.hpp.
struct StackingObstacles {
    std::string streams, batched;
};
struct StackingChoice {
    Stacking way = Stacking::off;  ///< not `automatic`
    std::string reason;            ///< why, if the spec alone does not say it; else ""
};
/// Decides what the spec requests. "auto": the possible way with the least time, summed over all
/// ranks, measured for about a second with `options` and minibatches like `batch`. The replicas'
/// state is not modified; their gradients are overwritten. Collective.
StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const StackingObstacles& obstacles,
                               const Model& model, Replicas& replicas, const PassOptions& options,
                               const data::Batch& batch);

/// Returns the choice as the spec names it, with the reason in brackets if there is one.
std::string to_text(const StackingChoice& choice);

}  // namespace dbench::train
