#pragma once
// Peers in one process: averagings happen one after another.

#include <vector>

#include "algorithms/asynchronous/asynchronous.hpp"

namespace dbench::algorithms {

/// Serves all replicas of this process, for Stepper::advance in virtual time.
class LocalPeers final : public Peers {
public:
    /// `x` are the parameters of replicas 0, 1, ...; `snapshots` the rows at which they compute
    /// gradients.
    LocalPeers(arena::Rows x, arena::Rows snapshots, arena::Columns columns, arena::Queue& queue)
        : x_(x),
          snapshots_(snapshots),
          columns_(columns),
          queue_(queue),
          averagings_(static_cast<size_t>(x.count)),
          iteration_(averagings_.size()),
          oldest_(averagings_.size()) {}

    /// Begins the replica's turn: takes its snapshot, which the other replicas see at once.
    void begin(const Turn& turn);

    void average(int64_t i, int64_t j) override;
    int64_t averagings(int64_t i) const override { return averagings_[at(i)]; }
    void mix(int64_t i, const std::vector<graphs::Link>& links) override;
    int64_t oldest(int64_t i) const override { return oldest_[at(i)]; }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    arena::Rows x_, snapshots_;
    arena::Columns columns_;
    arena::Queue& queue_;
    std::vector<int64_t> averagings_, iteration_, oldest_;  ///< [n]; iteration_: of the snapshot
};

}  // namespace dbench::algorithms
