#include "comm/plans/cost.hpp"

#include <vector>

namespace dbench::comm {

namespace {

/// Adds the links of replicas that are in no group. Returns their number.
int64_t add_links(const graphs::Schedule& schedule, graphs::Round round,
                  const std::vector<bool>& grouped, RoundCost& cost) {
    int64_t links = 0;
    for (int i = 0; i < schedule.size(); ++i) {
        if (grouped[i]) continue;
        for (const graphs::Link& link : schedule.out(round, i)) links += link.peer != i;
    }
    cost.messages += links;
    cost.rows += static_cast<double>(links);
    return links;
}

}  // namespace

RoundCost round_cost(const graphs::Schedule& schedule, graphs::Round round) {
    RoundCost cost{};
    int64_t links = 0;
    std::vector<bool> grouped(static_cast<size_t>(schedule.size()));
    for (const std::vector<int>& members : schedule.groups(round)) {
        const auto m = static_cast<int64_t>(members.size());
        const RoundCost group = all_reduce_cost(m);
        cost.messages += group.messages;
        cost.rows += group.rows;
        // Pairs are neighbours and not groups if messages are coded.
        if (m > 2) cost.gathered += group.rows / 2;
        links += m * (m - 1);
        for (const int member : members) grouped[member] = true;
    }
    links += add_links(schedule, round, grouped, cost);
    cost.degree = static_cast<double>(links) / schedule.size();
    cost.averages = links > 0;
    return cost;
}

RoundCost link_cost(const graphs::Schedule& schedule, graphs::Round round) {
    RoundCost cost{};
    const int64_t links =
        add_links(schedule, round, std::vector<bool>(static_cast<size_t>(schedule.size())), cost);
    cost.degree = static_cast<double>(links) / schedule.size();
    cost.averages = links > 0;
    return cost;
}

RoundCost all_reduce_cost(int64_t n) {
    return {static_cast<double>(n - 1), 2 * n * (n - 1), 2.0 * static_cast<double>(n - 1), 0,
            n > 1};
}

}  // namespace dbench::comm
