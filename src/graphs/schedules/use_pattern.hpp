#pragma once
// The iterations of a run in which a graph is used, and the sequence of rounds that results.

#include <cstdint>
#include <memory>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// A set of iterations: t with (t + 1 + `lead`) mod `period` = 0 or t < `from`, except those in
/// which another matrix is used instead: (t + 1) mod `instead` = 0 (0: never).
struct UsePattern {
    int64_t period = 1;
    int64_t from = 0;
    int64_t instead = 0;
    int64_t lead = 0;  ///< Below `period`. Nonzero only if `from` and `instead` are 0.

    /// True if the graph is used in iteration t.
    bool in(int64_t t) const;
    /// The number of uses in iterations before t.
    int64_t before(int64_t t) const;
    /// Returns the number of iterations after which a sequence with this period repeats if it is
    /// used in these iterations; 0 if it never repeats.
    int64_t repeats(int64_t period_of_sequence) const;
};

/// Returns the schedule that advances `graph` by one round at each use, however many iterations lie
/// between two uses, so that no round is left out. If `graph` is a StagedSchedule, its stage
/// follows the iteration, and uses are counted separately in each stage's graph.
std::unique_ptr<Schedule> counted_schedule(std::shared_ptr<const Schedule> graph, UsePattern uses);

/// Returns the common period of two sequences (their least common multiple); 0, which stands for
/// never, if either period is 0.
int64_t common_period(int64_t a, int64_t b);

}  // namespace dbench::graphs
