#pragma once
// The plan of one averaging for one rank: which rows it sends, which it receives, and which
// weighted sum each of its rows becomes.
//
// This folder turns a mixing matrix (graphs::Schedule and Round) into lists of messages and
// summands. It moves no bytes. Exchange makes a plan once per matrix and keeps it in a PlanCache. A
// MixingOperation (mixing/mixing_operation.hpp) carries the plan out for one range of columns.
// delivery_plan.hpp is the counterpart for messages that are not rows; cost.hpp counts the
// messages.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/tree.hpp"
#include "arena/updates/update_and_mix.hpp"
#include "comm/placement.hpp"
#include "graphs/schedule.hpp"

namespace dbench::comm {

/// A summand of a local row: another local row, or a row that was received.
struct Source {
    bool received;
    int64_t index;  ///< Index of the local row, or of the received row.
    double weight;
};

/// The rows that this rank sends to one rank, or receives from it, in the order of their replicas.
struct RankRows {
    int rank;
    std::vector<int64_t> rows;  ///< Local rows if sent; indices of received rows if received.
};

/// A group: replicas that are averaged by an all-reduce along a fixed binary tree. The tree's
/// leaves are the positions 0 .. m-1 in the sorted list of members, so the bits of the mean do not
/// depend on the placement.
struct GroupPlan {
    /// The positions that one rank holds. They form an interval because ranks hold blocks of
    /// replicas.
    struct Part {
        int rank;
        arena::Interval positions;
        std::vector<arena::Interval> nodes;  ///< The maximal subtrees: what this rank contributes.
        std::vector<int64_t> rows;           ///< Local rows of `rank`, by position.
        /// Index of this group among the groups of `rank` that span several ranks.
        int64_t index = 0;
    };
    int64_t members;            ///< The number of members, m.
    std::vector<Part> parts;    ///< One part per rank that holds members, in rank order.
    int me;                     ///< Index of this rank's part in `parts`.
    std::vector<int64_t> rows;  ///< Local rows of this rank's positions.

    /// True if this rank holds all members.
    bool local() const { return parts.size() == 1; }
    /// True if this rank must add some of its rows before it can send anything.
    bool reduces_first() const;
};

/// The rows that one rank sends, receives and adds.
struct MixingPlan {
    /// Per local row: its summands, the row itself first. Empty for rows of groups.
    std::vector<std::vector<Source>> terms;
    /// One entry per other rank. The indices of received rows count up in the order of `receive`.
    std::vector<RankRows> send, receive;
    int64_t received_rows = 0;  ///< Number of received rows.
    /// Per received row: its index among the sender's local rows.
    std::vector<int64_t> sender_rows;
    int64_t rows_sent = 0;          ///< Number of different local rows that are sent to neighbours.
    std::vector<GroupPlan> groups;  ///< The groups that have a member on this rank.
    bool has_terms = false;         ///< True if some local row is in no group.

    /// True if this rank neither sends nor receives anything.
    bool local() const;
};

/// The contribution of a rank to a group. `subtrees`: the means of its subtrees. `rows`: every row
/// separately, for codecs, because a sum of rounded rows differs from the rounding of a sum. With
/// `rows`, a group of two is treated as two neighbours and not as a group.
enum class Contribution : uint8_t { subtrees, rows };

/// Makes the plan of a round. Queries `schedule` only for the rows and columns of W that belong to
/// local replicas. Drops neighbours with weight 0 (only a replica itself can have weight 0).
MixingPlan make_mixing_plan(const graphs::Schedule& schedule, graphs::Round round,
                            const Placement& placement, int rank,
                            Contribution contribution = Contribution::subtrees);

/// Returns the plan as one pass over local rows. Requires plan.local().
arena::LocalMeans local_means(const MixingPlan& plan);

/// Makes the plan of the mean over all replicas: a single group.
MixingPlan make_mean_plan(const Placement& placement, int rank,
                          Contribution contribution = Contribution::subtrees);

}  // namespace dbench::comm
