#pragma once
// Assignment of replicas to slots (GPUs of nodes): the traffic between nodes, and placements that
// reduce it. Relabelling replicas does not change the spectrum of W, so a placement affects only
// the network.

#include <string>
#include <vector>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// slots[i] is the slot of replica i, or of rank i. Slot s is GPU s mod G of node s / G, with G
/// GPUs per node.
using Slots = std::vector<int>;

/// Traffic between nodes, in models (bytes divided by a model's bytes). An all-reduce of a group of
/// m runs around a ring in the order of slots: each member sends 2 (m-1)/m models to the next.
struct Traffic {
    double share = 0;       ///< Share of all models sent in a period that cross nodes.
    double worst_node = 0;  ///< Models that the busiest node sends out in the worst round.
};

/// Returns the traffic over one period, or over 64 rounds of a sequence without a period.
Traffic traffic(const Schedule& schedule, int gpus_per_node, const Slots& placement);

Slots linear_placement(int n);  ///< Replica i in slot i.
Slots node_major_placement(int n,
                           int gpus_per_node);  ///< Consecutive replicas on different nodes.
Slots random_placement(int n, uint64_t seed);

/// Starts from the best of the three placements above and exchanges replicas of two nodes as long
/// as that reduces the models that cross nodes (a local search of at most `sweeps` sweeps). The
/// result is never worse than linear.
Slots optimised_placement(const Schedule& schedule, int gpus_per_node, uint64_t seed,
                          int sweeps = 20);

/// Throws UserError if `name` is not linear, node_major, random or optimised.
void check_placement_name(const std::string& name);

/// Returns the placement with this name: linear, node_major, random or optimised. Throws UserError
/// for other names.
Slots placement_named(const std::string& name, const Schedule& schedule, int gpus_per_node,
                      uint64_t seed);

}  // namespace dbench::graphs
