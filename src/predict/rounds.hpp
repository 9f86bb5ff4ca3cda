#pragma once
// The messages of each iteration between ranks, from a schedule of mixing matrices.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/placement.hpp"
#include "graphs/schedule.hpp"
#include "predict/all_reduce.hpp"

namespace dbench::predict {

/// The messages of one averaging with one mixing matrix.
struct RoundPlan {
    /// For each rank: the ranks that it sends to, and the number of rows. A row that several
    /// replicas of a rank use is sent to that rank once.
    std::vector<std::vector<std::pair<int, int>>> out;
    /// For each rank: the rows that its weighted sums read in addition to its own.
    std::vector<int> rows_read;
    std::vector<std::vector<int>> groups;  ///< Ranks of each all-reduce, at least two.
    std::vector<int> group_size;           ///< For each rank: ranks of its all-reduce; 0: none.
    double rows_sent = 0;  ///< By all replicas, as `bytes_sent` of a result file counts them.
    bool averages = false;

    /// Returns the rows that each rank sends as messages. If ranks of a host read each other's rows
    /// in place, these are no messages; an all-reduce sends messages unless there is only one host.
    std::vector<double> rows_in_messages(const SumFacts& facts) const;
};

/// The plans of a sequence of iterations. Equal matrices share a plan.
struct Rounds {
    std::vector<RoundPlan> plans;
    std::vector<size_t>
        plan_of;  ///< Index into `plans` per iteration; iteration t uses t mod size.
    /// The iterations are a whole period of the schedule: it repeats them.
    bool whole = true;

    /// Returns the index into `plans` of iteration t.
    size_t index(int64_t t) const { return plan_of[static_cast<size_t>(t) % plan_of.size()]; }
    const RoundPlan& at(int64_t t) const { return plans[index(t)]; }
    double mean_rows_sent() const;
    /// Mean number of ranks and messages in an iteration.
    double mean_events() const;
};

/// The messages of replicas that average exactly with each other (graphs::Schedule::groups).
enum class Groups : uint8_t {
    all_reduce,  ///< They carry out an all-reduce.
    links        ///< They send over their links, as all replicas do.
};

/// Returns the plans of a period of the schedule, if it has one, else of the iterations
/// 0 .. iterations - 1 (at least one). A period of more than `iterations` iterations is planned as
/// a whole, too, if it has at most as many different matrices: local steps have few.
Rounds plan_rounds(const graphs::Schedule& schedule, const comm::Placement& placement,
                   int64_t iterations, Groups groups = Groups::all_reduce);
/// Returns the plan of an all-reduce among all ranks in every iteration.
Rounds plan_all_reduce(const comm::Placement& placement);

}  // namespace dbench::predict
