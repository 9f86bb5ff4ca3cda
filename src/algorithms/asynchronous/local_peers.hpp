#pragma once
// Replicas of one process, whose averagings happen one after another.

#include <vector>

#include "algorithms/asynchronous/asynchronous.hpp"

namespace dbench::algorithms {

class LocalPeers final : public Peers {
public:
    /// x are the parameters of replicas 0, 1, ..., `snapshots` where they take their gradients.
    LocalPeers(arena::Rows x, arena::Rows snapshots, arena::Columns columns, arena::Queue* queue)
        : x_(x),
          snapshots_(snapshots),
          columns_(columns),
          queue_(queue),
          averagings_(static_cast<size_t>(x.count)),
          iteration_(averagings_.size()),
          oldest_(averagings_.size()) {}

    /// The replica begins its turn: takes its snapshot, which at once is what others have of it.
    void begin(const Turn& turn);

    void average(int64_t i, int64_t j) override;
    int64_t averagings(int64_t i) const override { return averagings_[at(i)]; }
    void mix(int64_t i, const std::vector<graphs::Link>& links) override;
    int64_t oldest(int64_t i) const override { return oldest_[at(i)]; }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    arena::Rows x_, snapshots_;
    arena::Columns columns_;
    arena::Queue* queue_;
    std::vector<int64_t> averagings_, iteration_, oldest_;  ///< [n]; iteration of the snapshot
};

}  // namespace dbench::algorithms
