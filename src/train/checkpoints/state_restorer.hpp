#pragma once  // Private to train/checkpoints.
// Restores the rows of a state table from a checkpoint whose number of replicas may differ.

#include <cstdint>
#include <string>
#include <utility>

#include "arena/device/queue.hpp"
#include "arena/state.hpp"

namespace dbench::train {

/// Returns the range [first, last) of the m = `earlier_replicas` replicas of a checkpoint from
/// which replicas [begin, end) of the n = `replicas` replicas of this run start. Replica i starts
/// from the earlier replicas floor(i m/n) up to but not including floor((i+1) m/n), and at least
/// from the first of them:
///   clone (n > m): each replica is a copy of one earlier replica.
///   merge (n < m): each replica is the mean of at least one earlier replica.
std::pair<int64_t, int64_t> sources(int64_t begin, int64_t end, int64_t replicas,
                                    int64_t earlier_replicas);

/// Fills the local rows of a state table row by row: each becomes the mean of the earlier rows that
/// it starts from.
class StateRestorer {
public:
    /// Replicas [begin, end) of `replicas` are local. Sets their rows to zero. No launch that is on
    /// `queue` may touch them; later launches on it find the rows that take() has filled.
    StateRestorer(arena::StateTable& state, arena::Queue& queue, int64_t begin, int64_t end,
                  int64_t replicas, int64_t earlier_replicas);

    /// The earlier replicas that the local replicas need.
    std::pair<int64_t, int64_t> sources() const;
    /// Adds a row of the earlier replica `replica`, or sets the state that all replicas share
    /// (`replica` -1). Throws RunError if the table has no state of that name and size.
    void take(const std::string& name, int64_t replica, const std::string& bytes);
    /// Throws RunError if a row lacks one of the rows that it starts from.
    void finish() const;

private:
    arena::StateTable& state_;
    arena::Queue& queue_;
    int64_t begin_, end_, replicas_, earlier_replicas_, taken_ = 0;
};

}  // namespace dbench::train
