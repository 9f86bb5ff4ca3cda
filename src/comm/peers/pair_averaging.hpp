#pragma once
// Averages of pairs, for AD-PSGD (Lian et al., "Asynchronous Decentralized Parallel Stochastic
// Gradient Descent", 2018): rank i requests an averaging from rank j, and both rows become their
// mean, atomically.
//
// An averaging of i and j needs both rows. Every row has a queue of requests for it, from other
// ranks and from its own program. The lower rank grants its row first and notifies the other one,
// which queues this request in turn. When both rows are granted, each rank sends its own row and
// averages it with the other's. So a rank whose row is granted waits only for a rank with a higher
// number.
//
//   No deadlock: consider the highest rank that waits in this way. The row that it waits for is not
//   granted to a waiting rank, so it is being exchanged, or its owner is using it; both end.
//   No starvation: queues are served in order, and by induction from the highest rank down each
//   first request in a queue is completed. This holds for any n, graph and timing. No request is
//   refused, so partners are those that were drawn.
//
// An averaging costs up to two notes of 16 bytes, a row each way, and one row of scratch.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arena/rows.hpp"
#include "comm/peers/service.hpp"

namespace dbench::comm {

/// Averages this rank's row with those of its peers, pair by pair, at the request of either rank.
/// The main thread calls the public functions; the engine serves the requests of other ranks.
class PairAveraging : public Service {
public:
    static constexpr int64_t kRows = 1;  ///< Rows of scratch.

    /// x: this rank's only row. Other ranks change it from now on, but only during a span.
    /// `peers` as for Service. Collective.
    PairAveraging(World& world, arena::Rows x, const std::vector<int>& peers);

    /// Requests an averaging of x with a peer's row; returns at once. At most one request at a
    /// time.
    void request(int peer);
    /// Waits until the requested averaging is done.
    void finish();
    /// Calls `work` while no other rank reads or writes x.
    void run_exclusively(const std::function<void()>& work);
    /// Returns how many averagings have changed x, no matter which rank requested them. Constant
    /// during run_exclusively.
    int64_t averagings() const;

private:
    /// A request for x by a rank, or by this rank's own program (`rank` is then this rank).
    struct Turn {
        int rank;
        bool mine;  ///< True if this rank requested it.
    };

    void handle_derived_note(int from, Kind kind, int64_t value) override;
    void advance_requests() override;
    bool has_own_requests() const override { return requested_peer_ >= 0; }
    bool has_peer_requests() const override { return turn_ || !queue_.empty(); }
    std::vector<int> awaited_by_requests() const override;
    void begin_turn();
    void end_turn();

    const arena::Rows x_;
    const arena::Buffer partner_row_;  ///< The partner's row.
    std::deque<Turn> queue_;
    std::optional<Turn> turn_;                ///< The request to which x is granted.
    std::unique_ptr<Transfer> row_exchange_;  ///< The exchange of rows with the partner.
    int requested_peer_ =
        -1;  ///< The rank from which this rank has requested an averaging; -1: none.
    int64_t averagings_ = 0;
};

}  // namespace dbench::comm
