#pragma once
// Measurements of the network between ranks, with the same transport and messages as rows use.

#include <cstdint>
#include <span>
#include <vector>

#include "comm/world/world.hpp"
#include "graphs/links.hpp"

namespace dbench::comm {

/// Bytes per second between two ranks: if one of them sends, and of both together if both send.
struct LinkSpeed {
    double one_way, both_ways;

    /// True if the two directions share the bandwidth: sending slows down receiving.
    bool half_duplex() const { return both_ways < 1.6 * one_way; }
};

/// Measures the link between ranks a and b with messages of 16 MiB; the best of some tries.
/// Collective; all ranks return the result.
LinkSpeed measure_link(World& world, int a, int b);

/// The time of an all-reduce of one row of `bytes` bytes by the transport's library, as
/// `"reduction": "library"` uses it.
struct SumSpeed {
    static constexpr int64_t bytes = int64_t{32} << 20;
    double seconds;

    /// Returns the least possible seconds if each rank sends and receives `rate` bytes per second:
    /// an all-reduce moves 2 (r - 1) / r of the row each way (Patarasuk and Yuan 2009, doi
    /// 10.1016/j.jpdc.2008.09.002).
    static double least(int ranks, double rate) {
        return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / rate;
    }
};

/// Measures the library's sum; the best of some tries, and the slowest rank of these. Collective;
/// all ranks return the result.
SumSpeed measure_sum(World& world);

/// The exchanges that `measure_exchanges` makes.
struct Exchanges {
    /// Rank r sends an equal part of its bytes to each rank r + shift, modulo the number of ranks.
    /// At least one; 0 < shift < size, and no two are equal.
    std::vector<int> shifts;
    double seconds;        ///< Time for all of them together.
    int64_t fewest, most;  ///< Bounds of their number; between them `seconds` decides.
};

/// Makes exchanges one after another, in each of which every rank sends `out` and receives `in`,
/// which is as long. Returns the seconds of each on this rank, after one that is not counted.
/// Collective, with the same sizes on all ranks.
std::vector<double> measure_exchanges(World& world, std::span<char> out, std::span<char> in,
                                      const Exchanges& exchanges);

/// Measures latency (half a round trip of one byte) and bandwidth (messages of 4 MiB one way)
/// between all ranks; the best of some tries each. Takes r - 1 rounds (r, if r is odd), in which
/// all ranks are paired, so that links that several pairs share are measured under load.
/// Collective; rank 0 returns the result, others an object without slots.
graphs::Links measure_links(World& world);

}  // namespace dbench::comm
