#pragma once  // Private to predict.
// The links of hosts and ranks in simulated time.

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "predict/all_reduce.hpp"
#include "predict/host_peers.hpp"
#include "predict/network.hpp"
#include "predict/rounds.hpp"

namespace dbench::predict {

/// Moves messages, and remembers until when each link is busy. Times are in seconds since the start
/// of the simulation, bytes are those of a row or of a piece of it.
class Links {
public:
    /// Keeps references. Host h draws its slowdowns from a stream of (seed, h).
    Links(const Network& network, const Rounds& rounds, const SumFacts& sums, uint64_t seed);

    /// Goes on to iteration t: every host draws a slowdown. Iterations come in their order.
    void advance(int64_t t);

    /// Moves `bytes` of each row that a rank sends in this iteration. They can leave at `time`.
    /// `arrived` has the time for each rank at which it has received all rows so far.
    ///
    /// Messages between hosts share the sender's uplink and the receiver's downlink. The messages
    /// to several ranks move at the same time, and those to one rank are not faster than
    /// Network::remote. In a host that does not read rows in place, the messages of a rank leave
    /// one after another.
    void send(int from, double bytes, double time, std::span<double> arrived);

    /// Returns the number of all-reduces in this iteration.
    size_t groups() const { return groups_.size(); }
    /// Adds `bytes` of the rows of a group's ranks. An all-reduce has two phases: parts of rows go
    /// to the rank that adds them, then means go to all. It begins when every rank is ready. Sets
    /// `arrived` of the group's ranks.
    void all_reduce(size_t group, double bytes, std::span<const double> ready,
                    std::span<double> arrived);

    /// Returns the factor by which the messages of a rank's host take longer in this iteration.
    double slowdown(int rank) const;

private:
    struct Group {
        const std::vector<int>* ranks;
        AllReduce sum;
    };
    size_t host(int rank) const;

    const Network& network_;
    const Rounds& rounds_;
    const SumFacts& sums_;
    HostPeers peers_;
    const RoundPlan* plan_ = nullptr;  // of the iteration
    std::vector<Group> groups_;
    std::vector<base::Random> streams_;  // [hosts]
    std::vector<double> slowdown_;       // [hosts]
    // Until when links are busy: uplinks and downlinks of hosts; messages of a rank to other ranks
    // of its host, and to one rank of another host.
    std::vector<double> up_, down_, inside_, flow_;
};

}  // namespace dbench::predict
