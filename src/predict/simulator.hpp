#pragma once
// Event simulation of the time of training: when each rank computes, sends, waits and averages. It
// is a pure function of the measured costs, the messages of each iteration, the hosts of the ranks,
// and a seed. docs/predict.md describes the model and its limits.

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "predict/distribution.hpp"
#include "predict/rounds.hpp"

namespace dbench::predict {

/// When the exchange of an iteration takes place, relative to its computation.
enum class Order : uint8_t {
    adapt_then_combine,  ///< After the update, bucket by bucket while backward computes the others.
    combine_while_adapt,  ///< During forward and backward.
    combine_then_adapt,   ///< Before forward.
    all_reduce,    ///< A sum of gradients: bucket by bucket during backward, before the update.
    asynchronous,  ///< No rank waits for another.
};

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

/// A class of links between two ranks.
struct Link {
    double latency = 0;    ///< Seconds.
    double bandwidth = 1;  ///< Bytes per second in each direction while both are in use.
};

/// Factors by which the messages of a host take longer than the bandwidths of its links say. They
/// have no unit. They depend on the host's peers: the number of other hosts that it sends to in an
/// iteration, because messages to several hosts compete for links at both ends.
struct Slowdown {
    std::map<int, Distribution> by_peers{{1, Distribution(1.0)}};  ///< Has the key 1.
    /// A further factor in iterations in which the host sends to none of the hosts to which it sent
    /// in the iteration before, and these hosts sent to others, too: the new connections must find
    /// their rate while messages of the iteration before still move at both ends.
    double after_change = 1;

    /// Returns the factors of the largest number of peers that is at most `peers`.
    const Distribution& of(int peers) const;
    /// Returns the same factors without their variation.
    Slowdown means() const;
};

/// The hosts of the ranks, and the links between them.
struct Network {
    std::vector<int> host;  ///< Host of each rank, counted from 0.
    Link local;             ///< Between two ranks of a host.
    /// Ranks of a host read each other's rows in place: only `local.latency` counts.
    bool in_place = true;
    Link remote;  ///< Between two hosts: one message alone.
    /// Bytes per second that a host sends, and receives at the same time; its ranks share it.
    double uplink = 1;
    /// Each host draws a factor in each iteration, for all messages that it sends.
    Slowdown slowdown;

    int hosts() const;
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

/// The costs of one rank's iteration.
struct Work {
    Distribution compute;  ///< Seconds of forward and backward and everything else.
    /// Bytes that a rank sent as messages in each iteration in which `compute` was measured.
    double sent_in_compute = 0;
    RowCosts row_costs;           ///< Update and weighted sums.
    std::vector<Bucket> buckets;  ///< In the order of backward.
    std::vector<double> tiles;    ///< Bytes of the pieces in which a whole row is exchanged.
    double rows_per_rank = 1;     ///< Replicas of a rank.
    double wire = 1;              ///< Bytes of a message per byte of the row.
    bool library_sum = false;     ///< All-reduces are rings instead of direct messages.
    /// Seconds that a rank is delayed in an iteration, in addition; may be null.
    std::function<double(int rank, int64_t t)> delay = nullptr;
};

/// The simulated iterations.
struct Outcome {
    int64_t iterations = 0;
    int ranks = 0;
    std::vector<double> step;  ///< [iterations, ranks]: seconds of each iteration of each rank.
    double exposed = 0;  ///< Mean seconds of an iteration that are neither compute nor update.

    /// Returns the mean over ranks and iterations begin .. end - 1.
    double mean(int64_t begin, int64_t end) const;
    double mean() const { return mean(0, iterations); }
};

/// Simulates `iterations` iterations after a few that are not counted. Rank r draws its compute
/// steps from a stream of (seed, r), and host h its slowdown from another of (seed, h), so every
/// graph and order gets the same draws.
Outcome simulate(const Work& work, const Network& network, const Rounds& rounds, Order order,
                 int64_t iterations, uint64_t seed);

}  // namespace dbench::predict
