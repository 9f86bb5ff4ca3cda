#include "comm/plans/delivery_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace dbench::comm {
namespace {

/// Returns the replicas that use a replica's messages, without itself, in the order of its slots.
std::vector<int> users(const graphs::Schedule& schedule, graphs::Round round, int replica) {
    std::vector<int> out;
    for (const graphs::Link& link : schedule.out(round, replica)) {
        if (link.peer != replica) out.push_back(link.peer);
    }
    return out;
}

}  // namespace

DeliveryPlan make_delivery_plan(const graphs::Schedule& schedule, graphs::Round round,
                                const Placement& placement, int rank, Addressing addressing) {
    DeliveryPlan plan;
    const bool to_each = addressing == Addressing::to_each;
    const int64_t first = placement.begin(rank), count = placement.count(rank);
    std::vector<std::vector<int>> users_of(static_cast<size_t>(count));
    for (int64_t row = 0; row < count; ++row) {
        users_of[row] = users(schedule, round, static_cast<int>(first + row));
        std::set<int> served_ranks;
        for (size_t slot = 0; slot < users_of[row].size(); ++slot) {
            const int user = placement.rank_of(users_of[row][slot]);
            if (user == rank || (!to_each && !served_ranks.insert(user).second)) continue;
            plan.out.push_back({user, row, to_each ? static_cast<int64_t>(slot) : 0});
        }
    }

    // Messages from one rank arrive in the order of the sending replicas, and those of one replica
    // in the order of its users. Key: sending rank, sending replica, user.
    std::map<std::tuple<int, int64_t, int64_t>, int64_t> coming;
    const auto named = [&](int64_t sender, int64_t user) {
        return std::tuple{placement.rank_of(sender), sender, to_each ? user : 0};
    };
    std::vector<std::vector<graphs::Link>> links(static_cast<size_t>(count));
    for (int64_t row = 0; row < count; ++row) {
        const auto replica = static_cast<int>(first + row);
        links[row] = schedule.in(round, replica);
        std::erase_if(links[row], [&](const graphs::Link& link) {
            return link.weight == 0 || (to_each && link.peer == replica);
        });
        const auto own = std::find_if(links[row].begin(), links[row].end(),
                                      [&](const auto& link) { return link.peer == replica; });
        if (own != links[row].end()) std::rotate(links[row].begin(), own, own + 1);
        for (const graphs::Link& link : links[row]) {
            if (placement.rank_of(link.peer) != rank) coming[named(link.peer, replica)] = 0;
        }
    }
    for (auto& [name, place] : coming) {
        place = static_cast<int64_t>(plan.in.size());
        plan.in.push_back(std::get<0>(name));
    }

    plan.used_messages.resize(static_cast<size_t>(count));
    for (int64_t row = 0; row < count; ++row) {
        const auto replica = static_cast<int>(first + row);
        for (const graphs::Link& link : links[row]) {
            DeliveryPlan::Source source{link.peer, link.weight, false, link.peer - first, 0};
            if (placement.rank_of(link.peer) != rank) {
                source.received = true;
                source.slot = coming.at(named(link.peer, replica));
            } else if (to_each) {
                const auto& all = users_of[source.row];
                source.slot = std::find(all.begin(), all.end(), replica) - all.begin();
            }
            plan.used_messages[row].push_back(source);
        }
    }
    return plan;
}

}  // namespace dbench::comm
