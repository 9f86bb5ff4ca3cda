#pragma once
// Replicas of other ranks, each at its own pace: what a replica that has a rank to itself has of
// them. How nobody waits for whoever computes, and nobody for ever: comm/peers/pair_averaging.hpp
// and comm/peers/mailbox.hpp.

#include <functional>
#include <memory>

#include "algorithms/asynchronous/asynchronous.hpp"
#include "comm/peers/service.hpp"

namespace dbench::algorithms {

class RankPeers : public Peers {
public:
    /// Between two segments nobody changes x.
    virtual comm::Service& service() = 0;
    /// The segment has begun, with iteration t: everybody's x is known to whom it will be sent.
    /// Collective.
    virtual void open(int64_t t) = 0;
    /// The replica begins its turn: takes its snapshot, and begins to send or to average.
    virtual void begin(const Turn& turn) = 0;
    /// Calls `work`, which may change x; nobody else does meanwhile.
    virtual void alone(const std::function<void()>& work) = 0;
    /// Rows that all ranks have sent in each of the iterations first .. first + count - 1 of the
    /// segment that has ended; empty where that follows from the rules (Algorithm::sent).
    /// Collective.
    virtual std::vector<double> take_sent(int64_t first, int64_t count) = 0;
};

/// Of this rank's replica, whose parameters are x. `algorithm` and `schedule` must outlive it.
/// Collective.
std::unique_ptr<RankPeers> make_rank_peers(comm::World& world, const Asynchronous& algorithm,
                                           const graphs::Schedule& schedule, arena::Rows x);

/// Rows that it needs at most on any rank, beside the algorithm's state.
int64_t rows_of_rank_peers(const Asynchronous& algorithm, const graphs::Schedule& schedule);

}  // namespace dbench::algorithms
