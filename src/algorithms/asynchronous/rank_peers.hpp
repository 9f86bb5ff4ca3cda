#pragma once
// Peers on other ranks, each at its own pace, for a replica that has its own rank. The protocols by
// which no rank waits for one that computes, and none waits forever, are in
// comm/peers/pair_averaging.hpp and comm/peers/mailbox.hpp.

#include <functional>
#include <memory>

#include "algorithms/asynchronous/asynchronous.hpp"
#include "comm/peers/service.hpp"

namespace dbench::algorithms {

/// Access of this rank's replica to the replicas of other ranks. The main thread calls it; a
/// progress thread may change x concurrently (see `run_exclusively`).
class RankPeers : public Peers {
public:
    /// The service that moves messages. Between two spans it does not change x.
    virtual comm::Service& service() = 0;
    /// Opens a span that begins with iteration t: every rank that uses a replica's x then knows
    /// it. Collective.
    virtual void open(int64_t t) = 0;
    /// Begins the replica's turn: takes its snapshot, and begins to send or to average.
    virtual void begin(const Turn& turn) = 0;
    /// Calls `work`, which may change x. Nothing else changes x meanwhile.
    virtual void run_exclusively(const std::function<void()>& work) = 0;
    /// Returns the number of rows that all ranks sent in each of the iterations first .. first +
    /// count - 1 of the span that has ended; empty if this number follows from Algorithm::sent.
    /// Collective.
    virtual std::vector<double> take_sent(int64_t first, int64_t count) = 0;
};

/// Makes the peers of this rank's replica, whose parameters are x. `algorithm` and `schedule` must
/// outlive the result. Collective.
std::unique_ptr<RankPeers> make_rank_peers(comm::World& world, const Asynchronous& algorithm,
                                           const graphs::Schedule& schedule, arena::Rows x);

/// Returns the largest number of rows that the peers allocate on any rank, in addition to the
/// algorithm's state.
int64_t rows_of_rank_peers(const Asynchronous& algorithm, const graphs::Schedule& schedule);

}  // namespace dbench::algorithms
