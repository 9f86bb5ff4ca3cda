#pragma once
// Averages of pairs, for AD-PSGD (Lian et al., "Asynchronous Decentralized Parallel Stochastic
// Gradient Descent", 2018): rank i asks a rank j, and both rows become their mean, atomically.
//
// An averaging of i and j needs both rows, and every row has a queue of those who want it: other
// ranks, and its own program. The rank with the lower number gives its row first and says so to the
// other one, which queues that up in its turn; when both rows are given, each rank sends its own
// and adds the other's. So a rank whose row is given waits only for a rank with a higher number.
//
//   No deadlock: of the ranks that wait so, take the highest. The row that it waits for is not
//   given to a rank that waits, so it is being swapped or its owner is busy with it, and either
//   ends. No starvation: queues are served in order, and by induction from the highest rank down
//   each head of a queue comes to its end. This holds for any n, graph and timing; nobody is
//   refused, so partners are as they were drawn.
//
// An averaging costs up to two notes of 16 bytes, and a row each way; one row of scratch.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arena/rows.hpp"
#include "comm/peers/service.hpp"

namespace dbench::comm {

class PairAveraging : public Service {
public:
    static constexpr int64_t kRows = 1;  ///< of scratch

    /// x: this rank's one row, which others change from now on, but only while a segment lasts.
    /// `peers` as for Service. Collective.
    PairAveraging(World& world, arena::Rows x, const std::vector<int>& peers);

    /// Asks a peer for an averaging of x with its row; returns at once. At most one at a time.
    void ask(int peer);
    /// Waits until the averaging that was asked for has taken place.
    void finish();
    /// Calls `work` while nobody else reads or writes x.
    void alone(const std::function<void()>& work);
    /// How often averagings have changed x, asked for by whomever. Stands still in `alone`.
    int64_t averagings() const;

private:
    /// One that wants x: a rank, or (this rank's number) its own program.
    struct Turn {
        int rank;
        bool mine;  ///< this rank has asked for it
    };

    void heard(int from, Kind kind, int64_t value) override;
    void serve() override;
    bool asks() const override { return asked_ >= 0; }
    bool serves() const override { return turn_ || !queue_.empty(); }
    std::vector<int> awaited() const override;
    void begin_turn();
    void end_turn();
    void average();

    const arena::Rows x_;
    const arena::Buffer theirs_;  ///< what came of x's partner
    std::deque<Turn> queue_;
    std::optional<Turn> turn_;  ///< who has x now
    std::unique_ptr<Transfer> swap_;
    int asked_ = -1;  ///< the rank that was asked
    int64_t averagings_ = 0;
};

}  // namespace dbench::comm
