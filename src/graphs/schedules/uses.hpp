#pragma once
// In which iterations of a run a graph is used, and what a sequence then shows.

#include <cstdint>
#include <memory>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// Used in iterations t with (t + 1 + `lead`) mod `period` = 0 or t < `from`, but not where another
/// matrix takes its place: (t + 1) mod `instead` = 0 (0: never).
struct Uses {
    int64_t period = 1;
    int64_t from = 0;
    int64_t instead = 0;
    int64_t lead = 0;  ///< below `period`; with neither of the two before

    bool in(int64_t t) const;
    /// Uses in the iterations before t.
    int64_t before(int64_t t) const;
    /// Iterations after which a sequence of this period, used so, repeats; 0: never.
    int64_t repeats(int64_t period_of_sequence) const;
};

/// The graph as a run sees it that uses it so: a sequence goes on by one with each use, whatever
/// lies between, so that none of its rounds is left out. In a schedule that goes from graph to
/// graph (Staged) the stage is that of the iteration, and uses count inside of each graph.
std::unique_ptr<Schedule> counted(std::shared_ptr<const Schedule> graph, Uses uses);

/// When two sequences of these periods begin anew together; 0, as they have it, for never.
int64_t together(int64_t a, int64_t b);

}  // namespace dbench::graphs
