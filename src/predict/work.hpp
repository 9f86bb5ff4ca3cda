#pragma once
// The work of a rank in an iteration: the times of its computation, update and weighted sums, and
// the pieces in which its rows are exchanged.

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "predict/all_reduce.hpp"
#include "predict/distribution.hpp"
#include "predict/network.hpp"

namespace dbench::predict {

/// The seconds by which messages prolong the compute step, because the progress thread and the
/// ranks of a host may need the same cores. Negative if ranks compute faster while others wait.
struct Prolongation {
    /// As measured, by the bytes that a rank sends in an iteration (and receives as well).
    std::map<double, double> measured;

    /// Returns the seconds for `bytes`. They are 0 without bytes, linear between these and what was
    /// measured, and beyond the largest measurement they do not decrease.
    double of(double bytes) const;
    /// Returns the prolongation of ranks with `replicas` times as many replicas.
    Prolongation scaled(double replicas) const;
};

/// The costs of the update and of the weighted sums of a rank.
struct RowCosts {
    double update = 0;               ///< Seconds of the update of all columns.
    double seconds_per_byte = 0;     ///< Time per byte that a weighted sum reads or writes.
    Prolongation prolongation = {};  ///< Prolongs the compute step.
};

/// Columns whose gradients become complete together.
struct Bucket {
    double bytes;  ///< Size of these columns in one row.
    /// Share of the compute step after which its gradient is complete, 0 to 1, ascending.
    double ready;
};

/// Returns the bytes of the pieces in which the program exchanges a whole row (the tiles of
/// arena::Layout).
std::vector<double> tiles_of(double row_bytes);

/// Returns how often a rank with `rows` replicas reads or writes a row in an all-reduce of
/// `members` ranks, at least two: it adds its replicas' rows and its share of all ranks' rows, then
/// writes the means of all shares. A member of a small group reads the rows of all instead.
double passes_of_all_reduce(int members, double rows);

/// The costs of one rank's iteration.
struct Work {
    Distribution compute;  ///< Seconds of forward and backward and everything else.
    /// The replicas of each rank over `rows_per_rank`, which multiply its compute step and update.
    /// Empty: 1 for all ranks.
    std::vector<double> shares = {};
    /// Bytes that a rank sent as messages in each iteration in which `compute` was measured.
    double sent_in_compute = 0;
    RowCosts row_costs;           ///< Update and weighted sums.
    std::vector<Bucket> buckets;  ///< In the order of backward.
    std::vector<double> tiles;    ///< Bytes of the pieces in which a whole row is exchanged.
    double rows_per_rank = 1;     ///< Replicas of a rank; with `shares`, of one whose share is 1.
    double wire = 1;              ///< Bytes of a message per byte of the row.
    bool library_sum = false;     ///< The spec has "reduction": "library".
    /// Share of its links over which an asynchronous replica averages in an iteration.
    double links_used = 1;
    /// Seconds that a rank is delayed before it computes; may be null.
    std::function<double(int rank, int64_t t)> delay = nullptr;

    /// Returns the facts that decide how all-reduces between these ranks are computed.
    SumFacts sums(const Network& network) const;
};

}  // namespace dbench::predict
