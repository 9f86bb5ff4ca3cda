#pragma once
// What two ranks reach between them, as rows would.

#include "comm/world.hpp"

namespace dbench::comm {

/// Bytes a second between two ranks: of one that sends, and of both together when both send.
struct LinkSpeed {
    double one_way, both_ways;

    /// Whether sending costs receiving: a wire has each direction whole.
    bool takes_turns() const { return both_ways < 1.6 * one_way; }
};

/// The best of some tries with messages of 16 MiB between ranks a and b. Collective; the result is
/// known to all.
LinkSpeed measure_link(World& world, int a, int b);

}  // namespace dbench::comm
