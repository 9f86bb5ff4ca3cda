#pragma once
// Which replica sits where: traffic between nodes, and placements that lessen it. A relabelling
// leaves the spectrum as it is, so only the network notices.

#include <string>
#include <vector>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// slot[i]: where replica i runs; slot s is GPU s mod G of node s / G.
using Placement = std::vector<int>;

/// What crosses nodes, in models (bytes over a model's bytes). An all-reduce of a group goes round
/// a ring in the order of slots, 2 (m-1)/m models from each member to the next.
struct Traffic {
    double share = 0;       ///< of all models sent in a period, those that cross nodes
    double worst_node = 0;  ///< models that the busiest node sends out in the worst round
};

/// Over one period, or 64 rounds of a sequence without one.
Traffic traffic(const Schedule& schedule, int gpus_per_node, const Placement& placement);

Placement linear_placement(int n);                         ///< replica i in slot i
Placement node_major_placement(int n, int gpus_per_node);  ///< consecutive replicas on other nodes
Placement random_placement(int n, uint64_t seed);

/// The best of the three above, then improved by exchanging replicas of two nodes while that lowers
/// the models that cross nodes (a local search; `sweeps` bounds it). Never worse than linear.
Placement optimised_placement(const Schedule& schedule, int gpus_per_node, uint64_t seed,
                              int sweeps = 20);

/// Throws UserError where it is none of linear, node_major, random, optimised.
void check_placement_name(const std::string& name);

/// By name: linear, node_major, random, optimised. Throws UserError.
Placement placement_named(const std::string& name, const Schedule& schedule, int gpus_per_node,
                          uint64_t seed);

}  // namespace dbench::graphs
