#pragma once  // Private to train/run.
// The agreement of all ranks to stop before the same iteration, after some rank has received a
// signal.

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "comm/world/background_collective.hpp"
#include "comm/world/world.hpp"

namespace dbench::train {

/// Starts a query of all ranks about four times a second, at the same iterations on every rank, and
/// reads its answer at the next query. So a rank waits only for ranks that are late by a whole
/// interval. A single rank needs no query and stops at once.
class StopRequest {
public:
    /// `first` is the iteration of the first query; `min_sync_interval` is the minimum number of
    /// iterations between two queries.
    StopRequest(comm::World& world, int64_t first, int64_t min_sync_interval = 1)
        : world_(world), min_interval_(static_cast<double>(min_sync_interval)), next_(first) {}

    /// True if all ranks stop before iteration t; the same on all ranks. Call with t in ascending
    /// order. `stop_wanted`: this rank requests a stop.
    bool agreed(int64_t t, bool stop_wanted);
    /// Waits for the last answer, so that no rank leaves while others still need it. Collective.
    void end();

private:
    comm::World& world_;
    double min_interval_;           ///< In iterations.
    int64_t next_;                  ///< Iteration of the next query.
    int64_t last_query_ = -1;       ///< Iteration of the last query.
    int64_t timed_iterations_ = 0;  ///< Iterations before it whose time the query reported.
    base::Stopwatch watch_;         ///< Seconds since the last query.
    std::unique_ptr<comm::BackgroundCollective> query_;
};

}  // namespace dbench::train
