#pragma once
// Numbers of all ranks, for measurements.

#include <vector>

#include "comm/world/world.hpp"

namespace dbench::program {

/// Returns the mean of `value` over the ranks, on all ranks. Collective.
double mean_over_ranks(comm::World& world, double value);

/// Returns the `values` of all ranks in rank order, on rank 0; nothing on the others. Ranks
/// may have different numbers of values. Collective.
std::vector<double> gather_values(comm::World& world, const std::vector<double>& values);

}  // namespace dbench::program
