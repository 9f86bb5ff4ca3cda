#pragma once
// From the rows of earlier replicas to those of a run that goes on, where both may be different
// numbers of replicas. Internal to this room.

#include <cstdint>
#include <string>
#include <utility>

#include "arena/device/queue.hpp"
#include "arena/state.hpp"

namespace dbench::train {

/// Earlier replicas [first, last) of `then` from which replicas [begin, end) of `now` come:
/// replica i from floor(i then/now), and from those up to before floor((i+1) then/now).
std::pair<int64_t, int64_t> sources(int64_t begin, int64_t end, int64_t now, int64_t then);

/// The local rows of a state table, filled row by row: each is the mean of those it comes from.
class Filling {
public:
    /// Replicas [begin, end) of `now` are local. Nothing that is on `queue` touches them; what is
    /// launched there later finds them filled.
    Filling(arena::StateTable& state, arena::Queue* queue, int64_t begin, int64_t end, int64_t now,
            int64_t then);

    std::pair<int64_t, int64_t> sources() const;
    /// A row of an earlier replica, or what replicas share (`replica` -1). Throws RunError where
    /// the table has no such row.
    void take(const std::string& name, int64_t replica, const std::string& bytes);
    /// Throws RunError where a row has not got all that it comes from.
    void finish() const;

private:
    arena::StateTable& state_;
    arena::Queue* queue_;
    int64_t begin_, end_, now_, then_, taken_ = 0;
};

}  // namespace dbench::train
