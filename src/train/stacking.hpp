#pragma once
// Whether the local replicas of a rank pass the model together (StackedPass) or one by one.

#include <string>

#include "algorithms/algorithm.hpp"
#include "comm/placement.hpp"
#include "comm/world.hpp"
#include "data/loader.hpp"
#include "train/run_spec.hpp"

namespace dbench::train {

class Model;
class Replicas;

/// Why replicas cannot pass the model together; "" where they can. `parts` of a minibatch; `row`:
/// of the algorithm.
std::string stacking_obstacle(const Model& model, const data::Dataset& train,
                              const data::BatchPlan& batches, int64_t parts,
                              const algorithms::AlgorithmEntry& row);

/// Throws UserError where the spec asks for what an obstacle, "" for none, forbids.
void check_stacking(const RunSpec& spec, const std::string& obstacle);

struct StackingChoice {
    bool batched;
    std::string reason;  ///< where it is not just what the spec says; else ""
};
/// What the spec asks for. "auto": whatever takes all ranks together less time, measured for about
/// a second with minibatches like `batch`; the replicas' state stays, their gradients are lost.
/// Collective.
StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const std::string& obstacle, const Model& model,
                               Replicas& replicas, const data::Batch& batch);

}  // namespace dbench::train
