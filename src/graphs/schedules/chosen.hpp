#pragma once
// Schedules that take each iteration's matrix from one of several others: what algorithms with
// local steps, or with a global average now and then, make of a graph.

#include <functional>

#include "graphs/schedules/uses.hpp"

namespace dbench::graphs {

/// Iteration t uses `schedules[choose(t)]` as that has it in t; `choose` is pure. `period` and
/// `first_exchange` as those of Schedule. Certificates look at the first of them.
std::unique_ptr<Schedule> chosen(std::vector<std::shared_ptr<const Schedule>> schedules,
                                 std::function<size_t(int64_t)> choose, int64_t period,
                                 int64_t first_exchange = 0);

/// W = I for ever.
std::unique_ptr<Schedule> no_exchange(int n);

/// W = J/G on consecutive blocks of G = `gpus_per_node` replicas, the last one maybe smaller.
std::unique_ptr<Schedule> node_average(int n, int64_t gpus_per_node);

/// The graph where it is used, J/n in the iterations `uses.instead`, which postpone the graph's
/// rounds and leave none out; W = I else.
std::unique_ptr<Schedule> averaged_globally(std::shared_ptr<const Schedule> graph, Uses uses);

/// The graph in iterations t with (t + 1 + `lead`) mod `period` = 0, or t < `from`, as `counted`
/// has it; `between`, by iterations, else.
std::unique_ptr<Schedule> every_so_often(std::shared_ptr<const Schedule> graph,
                                         std::shared_ptr<const Schedule> between, int64_t period,
                                         int64_t from = 0, int64_t lead = 0);

}  // namespace dbench::graphs
