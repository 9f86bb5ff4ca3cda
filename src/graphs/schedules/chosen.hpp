#pragma once
// Schedules that take each iteration's matrix from one of several others: what algorithms with
// local steps, or with a global average now and then, make of a graph.

#include <functional>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// Round `at(t)` of schedule number `schedule`.
struct Choice {
    size_t schedule;
    int64_t t;
};

/// Iteration t uses choose(t), which is pure. Matrices of schedule number 0 keep their names.
/// `period` and `first_exchange` as those of Schedule.
std::unique_ptr<Schedule> chosen(std::vector<std::shared_ptr<const Schedule>> schedules,
                                 std::function<Choice(int64_t)> choose, int64_t period,
                                 int64_t first_exchange = 0);

/// W = I for ever.
std::unique_ptr<Schedule> no_exchange(int n);

/// W = J/G on consecutive blocks of G = `gpus_per_node` replicas, the last one maybe smaller.
std::unique_ptr<Schedule> node_average(int n, int64_t gpus_per_node);

/// The graph, but W = J/n in iterations t with (t + 1) mod `period` = 0.
std::unique_ptr<Schedule> averaged_globally(std::shared_ptr<const Schedule> graph, int64_t period);

/// The graph's matrices in iterations t with (t + 1) mod `period` = 0, or t < `from`; `between`
/// else. A sequence advances by one with each of its uses, so that none of its rounds is left out
/// whatever `period` is; one that goes by the iterations of the run (Staged) does not.
std::unique_ptr<Schedule> every_so_often(std::shared_ptr<const Schedule> graph,
                                         std::shared_ptr<const Schedule> between, int64_t period,
                                         int64_t from = 0);

}  // namespace dbench::graphs
