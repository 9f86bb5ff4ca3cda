// What rounds cost, counted as if every rank held one replica.

#include <vector>

#include "comm/exchange.hpp"

namespace dbench::comm {

RoundCost round_cost(const graphs::Schedule& schedule, graphs::Round round) {
    const int n = schedule.size();
    RoundCost cost{};
    int64_t links = 0;
    std::vector<bool> grouped(static_cast<size_t>(n));
    for (const std::vector<int>& members : schedule.groups(round)) {
        const auto m = static_cast<int64_t>(members.size());
        const RoundCost group = all_reduce_cost(m);
        cost.messages += group.messages;
        cost.rows += group.rows;
        if (m > 2)
            cost.gathered += group.rows / 2;  // pairs are neighbours where messages are coded
        links += m * (m - 1);
        for (const int member : members) grouped[member] = true;
    }
    for (int i = 0; i < n; ++i) {
        if (grouped[i]) continue;
        for (const graphs::Link& link : schedule.out(round, i)) {
            if (link.peer == i) continue;
            ++links;
            ++cost.messages;
            cost.rows += 1;
        }
    }
    cost.degree = static_cast<double>(links) / n;
    cost.averages = links > 0;
    return cost;
}

RoundCost all_reduce_cost(int64_t n) {
    return {static_cast<double>(n - 1), 2 * n * (n - 1), 2.0 * static_cast<double>(n - 1), 0,
            n > 1};
}

}  // namespace dbench::comm
