#pragma once
// What a placement costs: seconds that messages need on links of unlike latency and bandwidth, and
// the placement of ranks on slots that needs fewest. The cost of an all-reduce and of stages is
// that of "Decentralized Training of Foundation Models in Heterogeneous Environments" (DT-FM,
// arXiv:2206.01288).

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graphs/links.hpp"
#include "graphs/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// What ranks send each other for a schedule.
struct RankTraffic {
    struct Round {
        double share;  ///< of the iterations
        /// Per rank: the others it sends to, and how many rows; a row that several replicas of a
        /// rank use goes there once.
        std::vector<std::vector<std::pair<int, int>>> out;
        std::vector<std::vector<int>> groups;  ///< ranks of an all-reduce, at least two
    };
    int ranks = 1;
    std::vector<Round> rounds;
};

/// Over one period, or 64 rounds spread over `iterations` of a schedule without one. rank_of[i]:
/// the rank of replica i.
RankTraffic rank_traffic(const Schedule& schedule, const std::vector<int>& rank_of,
                         int64_t iterations = 64);
/// An all-reduce among all ranks in every iteration.
RankTraffic all_reduce_traffic(int ranks);

/// DT-FM's cost of an all-reduce, parts sent directly: the largest over members i of
/// sum over j != i of 2 (a_ij + bytes / (b_ij m)), in seconds; m members on these slots.
double all_reduce_seconds(const Links& links, std::span<const int> slots, double bytes);

/// Mean seconds of an iteration: in each round the rank that needs longest, by
/// sum over rows sent of (a + row_bytes / b) and the cost of its all-reduces. slot[r]: of rank r.
double link_cost(const RankTraffic& traffic, const Links& links, double row_bytes,
                 const Placement& slot);

/// The cheapest placement found: of all where there are at most 8 ranks, else by exchanging pairs
/// drawn with `seed`. Never dearer than linear, which it is where nothing is cheaper.
Placement cheapest_placement(const RankTraffic& traffic, const Links& links, double row_bytes,
                             uint64_t seed);

/// DT-FM's cost of training in stages: the dearest all-reduce of `gradient_bytes` within a stage,
/// and twice the cheapest open path through all stages, forth and back. A hop between two stages
/// sends `activation_bytes` between the members of the matching whose slowest link is fastest.
/// stages[k]: slots, equally many in each; at most 16 stages. Seconds.
double stage_cost(const Links& links, const std::vector<std::vector<int>>& stages,
                  double gradient_bytes, double activation_bytes);

}  // namespace dbench::graphs
