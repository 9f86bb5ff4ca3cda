#pragma once
// Schedules that select each iteration's matrix from several other schedules. Algorithms with local
// steps, or with a periodic global average, build them from the spec's graph.

#include <functional>

#include "graphs/schedules/use_pattern.hpp"

namespace dbench::graphs {

/// Returns the schedule that in iteration t uses `schedules[choose(t)]` at t. `choose` is pure.
/// `period` and `first_exchange` have the meaning that they have in Schedule. Certificates examine
/// the first schedule.
std::unique_ptr<Schedule> selecting_schedule(std::vector<std::shared_ptr<const Schedule>> schedules,
                                             std::function<size_t(int64_t)> choose, int64_t period,
                                             int64_t first_exchange = 0);

/// Returns the static schedule W = I.
std::unique_ptr<Schedule> no_exchange_schedule(int n);

/// Returns the static schedule W = J/G on consecutive blocks of G = `gpus_per_node` replicas. The
/// last block may be smaller.
std::unique_ptr<Schedule> node_average(int n, int64_t gpus_per_node);

/// Returns a schedule that uses J/n in the iterations given by `uses.instead`, `graph` in its other
/// uses, and W = I in all other iterations. The iterations with J/n delay the graph's rounds; no
/// round is left out.
std::unique_ptr<Schedule> with_global_averages(std::shared_ptr<const Schedule> graph,
                                               UsePattern uses);

/// Returns a schedule that uses `graph` (through counted_schedule) in iterations t with (t + 1 +
/// `lead`) mod `period` = 0 or t < `from`, and `between` at index t in all other iterations.
std::unique_ptr<Schedule> periodic_schedule(std::shared_ptr<const Schedule> graph,
                                            std::shared_ptr<const Schedule> between, int64_t period,
                                            int64_t from = 0, int64_t lead = 0);

}  // namespace dbench::graphs
