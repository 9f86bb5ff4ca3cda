#pragma once
// What two ranks reach between them, as rows would.

#include "comm/world.hpp"
#include "graphs/links.hpp"

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

/// Latency and bandwidth between all ranks, each the best of some tries: half a round trip of one
/// byte; and messages of 4 MiB one way. In r - 1 rounds (r, if r is odd) in which every rank has
/// another partner, so that links that pairs share are measured in use. Collective; the result is
/// known to rank 0, others get no slots.
graphs::Links measure_links(World& world);

}  // namespace dbench::comm
