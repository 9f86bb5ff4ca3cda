#pragma once
// Cost model of a placement of ranks: the seconds that messages need on links of different latency
// and bandwidth, and a search for the placement with the lowest cost. The cost of an all-reduce is
// that of "Decentralized Training of Foundation Models in Heterogeneous Environments" (DT-FM,
// arXiv:2206.01288). The placement `optimised` of a spec uses it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graphs/links.hpp"
#include "graphs/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// The messages that ranks send each other for a schedule.
struct RankTraffic {
    struct Round {
        double share;  ///< Share of the iterations that use this round, 0 to 1.
        /// For each rank: the ranks it sends to, and how many rows. A row that several replicas of
        /// a receiving rank use is sent to that rank once.
        std::vector<std::vector<std::pair<int, int>>> out;
        std::vector<std::vector<int>> groups;  ///< Ranks of each all-reduce, at least two.
    };
    int ranks = 1;
    std::vector<Round> rounds;
};

/// Returns the traffic over one period, or over 64 rounds spread evenly over `iterations` if the
/// schedule has no period (or a period over 4096). rank_of[i] is the rank of replica i.
RankTraffic rank_traffic(const Schedule& schedule, const std::vector<int>& rank_of,
                         int64_t iterations = 64);
/// Returns the traffic of an all-reduce among all ranks in every iteration.
RankTraffic all_reduce_traffic(int ranks);

/// Returns the mean seconds of an iteration. A round costs the time of its slowest rank. The time
/// of rank i is the sum over the rows that it sends to a rank j of (a_ij + row_bytes / b_ij), with
/// latency a and bandwidth b, plus DT-FM's cost of its all-reduces, whose parts are sent directly:
/// the sum over the other members j of 2 (a_ij + row_bytes / (b_ij m)) for m members. slot[r] is
/// the slot of rank r.
double link_cost(const RankTraffic& traffic, const Links& links, double row_bytes,
                 const Slots& slot);

/// Returns the cheapest placement found. With at most 8 ranks it tries all placements; otherwise it
/// exchanges pairs of ranks drawn with `seed`. The result never costs more than the linear
/// placement, and is linear if nothing cheaper is found.
Slots cheapest_placement(const RankTraffic& traffic, const Links& links, double row_bytes,
                         uint64_t seed);

}  // namespace dbench::graphs
