#pragma once
// A clock that all ranks share. Hosts have different clocks, so the ranks measure by how much.

#include <functional>

#include "base/clock.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// The difference between two clocks.
struct ClockOffset {
    double seconds;      ///< Rank 0's clock minus this rank's.
    double uncertainty;  ///< The error is at most this: half of the shortest round trip.
};

/// Measures this rank's `clock` against rank 0's, by the shortest of many round trips over the
/// control transport. Collective.
ClockOffset measure_clock_offset(World& world, const std::function<double()>& clock = base::now);

/// Returns the run's clock for this rank. `run` counts the run's seconds; rank 0's is used.
/// Collective.
base::RunClock common_clock(World& world, const base::Stopwatch& run);

}  // namespace dbench::comm
