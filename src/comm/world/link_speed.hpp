#pragma once
// What two ranks reach between them, as rows would.

#include "comm/world/world.hpp"
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

/// A sum over all ranks of rows of `bytes` bytes by the transport's library, as `"reduction":
/// "library"` asks for it.
struct SumSpeed {
    static constexpr int64_t bytes = int64_t{32} << 20;
    double seconds;

    /// What it would take where each rank sends and receives `rate` bytes a second: 2 (r - 1) / r
    /// of the row each way (Patarasuk and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002).
    static double least(int ranks, double rate) {
        return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / rate;
    }
};

/// The best of some tries. Collective; the result, the slowest rank's, is known to all.
SumSpeed measure_sum(World& world);

/// Latency and bandwidth between all ranks, each the best of some tries: half a round trip of one
/// byte; and messages of 4 MiB one way. In r - 1 rounds (r, if r is odd) in which every rank has
/// another partner, so that links that pairs share are measured in use. Collective; the result is
/// known to rank 0, others get no slots.
graphs::Links measure_links(World& world);

}  // namespace dbench::comm
