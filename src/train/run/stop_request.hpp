#pragma once
// Whether some rank wishes to stop, so that all stop before the same iteration.

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "comm/world/collection.hpp"
#include "comm/world/world.hpp"

namespace dbench::train {

/// Asks all ranks about four times a second, at the same iterations, and takes the answer when it
/// asks again: nobody waits for a rank that is not a whole interval late. A rank alone knows at
/// once.
class StopRequest {
public:
    /// `first`: iteration that is asked before first. `apart`: iterations between two questions at
    /// least.
    StopRequest(comm::World& world, int64_t first, int64_t apart = 1)
        : world_(world), apart_(static_cast<double>(apart)), next_(first) {}

    /// Before iteration t, in order, with this rank's wish: whether all stop here. The same on all
    /// ranks.
    bool agreed(int64_t t, bool mine);
    /// Waits for the last answer, so that all may part. Collective.
    void end();

private:
    comm::World& world_;
    double apart_;           ///< iterations
    int64_t next_;           ///< when to ask
    int64_t asked_ = -1;     ///< when was asked last
    int64_t timed_ = 0;      ///< iterations before that which it has timed
    base::Stopwatch watch_;  ///< since then
    std::unique_ptr<comm::Collection> asking_;
};

}  // namespace dbench::train
