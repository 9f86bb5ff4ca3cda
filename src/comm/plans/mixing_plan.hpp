#pragma once
// What one mixing matrix means to one rank: what it sends, receives and adds.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/tree.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "comm/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

/// A summand of a local row: a local row, or a row that was received.
struct Source {
    bool received;
    int64_t index;  ///< local row, or slot among the received
    double weight;
};

/// The rows that go to or come from one rank, in the order of their replicas: local rows, or slots.
struct Parcel {
    int rank;
    std::vector<int64_t> rows;
};

/// A set of replicas that are averaged, as an all-reduce along the fixed tree over the positions
/// 0 .. m-1 in its sorted member list.
struct GroupPlan {
    /// The positions that one rank holds: an interval, since ranks hold blocks of replicas.
    struct Part {
        int rank;
        arena::Interval positions;
        std::vector<arena::Interval> nodes;  ///< its maximal subtrees: what it contributes
        std::vector<int64_t> rows;           ///< its local rows, by position
        int64_t index = 0;                   ///< which of its rank's that span ranks this is
    };
    int64_t members;            ///< m
    std::vector<Part> parts;    ///< of the ranks that hold members, in order
    int me;                     ///< this rank's part
    std::vector<int64_t> rows;  ///< local rows of this rank's positions

    bool local() const { return parts.size() == 1; }
    /// Whether a part is more than one row: rows are then added before anything can be sent.
    bool adds_first() const;
};

struct MixingPlan {
    std::vector<std::vector<Source>>
        terms;                          ///< per local row: itself, neighbours; none for a group's
    std::vector<Parcel> send, receive;  ///< by rank; received slots are consecutive
    int64_t slots = 0;                  ///< rows received
    std::vector<int64_t> slot_rows;     ///< per slot: which local row of its holder it is
    int64_t rows_sent = 0;              ///< different local rows that go to neighbours
    std::vector<GroupPlan> groups;      ///< those that have a member here
    bool has_terms = false;

    /// Whether this rank has no part in any message.
    bool local() const;
};

/// What ranks contribute to groups: means of their subtrees, or, since a sum of rounded rows is not
/// what its rounded parts would be, every row by itself; pairs are then no groups, but neighbours.
enum class Contribution : uint8_t { subtrees, rows };

/// Row i of W is asked for, for local i only, and column j for local j only. A neighbour with
/// weight 0 (only a replica itself can have it) is no summand.
MixingPlan make_mixing_plan(const graphs::Schedule& schedule, graphs::Round round,
                            const Placement& placement, int rank,
                            Contribution contribution = Contribution::subtrees);

/// What a plan that is all local comes to.
arena::LocalMeans local_means(const MixingPlan& plan);

/// The plan of the mean over all replicas: one group.
MixingPlan make_mean_plan(const Placement& placement, int rank,
                          Contribution contribution = Contribution::subtrees);

}  // namespace dbench::comm
