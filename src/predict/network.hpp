#pragma once
// The hosts of ranks, and the costs of the links between them.

#include <map>
#include <vector>

#include "predict/distribution.hpp"

namespace dbench::predict {

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

}  // namespace dbench::predict
