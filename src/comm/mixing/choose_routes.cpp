#include "comm/mixing/choose_routes.hpp"

#include <algorithm>
#include <optional>

namespace dbench::comm {
namespace {

/// Mixing reads the rows of groups up to this size whole on every rank of the host. In larger
/// groups each rank computes one chunk of the mean, and the others copy it.
constexpr int64_t kMaxGroupReadWhole = 8;

/// True if ranks of this host may read this exchange's rows in place.
bool may_share(const RouteFacts& facts) {
    return facts.until_reclaimed && facts.peer_readable && !facts.empty;
}

/// True if the plan is one group of all replicas.
bool of_all(const MixingPlan& plan, const RouteFacts& facts) {
    return plan.groups.size() == 1 && plan.groups[0].members == facts.replicas;
}

/// True if this rank shares memory with all other ranks of the group.
bool on_this_host(const GroupPlan& group, const RouteFacts& facts) {
    const int me = group.parts[group.me].rank;
    return std::all_of(group.parts.begin(), group.parts.end(), [&](const GroupPlan::Part& part) {
        return part.rank == me || facts.shares_memory(part.rank);
    });
}

/// True if the rows of each host are the leaves of one node of the group's fixed tree, and all
/// these nodes have the same depth. Requires a group of all replicas: part r belongs to rank r.
/// The mean by host then has the bits of the fixed tree.
bool hosts_are_nodes(const GroupPlan& group, const RanksByHost& hosts) {
    if ((hosts.size() & (hosts.size() - 1)) != 0) return false;
    const int64_t each = group.members / std::ssize(hosts);
    int next = 0;
    for (const std::vector<int>& ranks : hosts) {
        int64_t replicas = 0;
        for (const int rank : ranks) {
            if (rank != next++) return false;
            replicas += group.parts[rank].positions.end - group.parts[rank].positions.begin;
        }
        if (replicas != each) return false;
    }
    return each * std::ssize(hosts) == group.members;
}

/// True if each host adds its own rows first.
bool by_host(const MixingPlan& plan, const RouteFacts& facts, bool in_place) {
    return in_place && of_all(plan, facts) && !facts.coded && facts.hosts &&
           facts.hosts->size() > 1 &&
           (facts.library_sums || hosts_are_nodes(plan.groups[0], *facts.hosts));
}

/// True if the library adds the plan's only group. Ranks that read rows in place are faster.
bool library_adds(const MixingPlan& plan, const RouteFacts& facts, bool in_place) {
    if (!facts.library_sums || facts.coded || facts.empty || !of_all(plan, facts)) return false;
    return !in_place || (!by_host(plan, facts, in_place) && !on_this_host(plan.groups[0], facts));
}

GroupRoute route_of(const GroupPlan& group, const RouteFacts& facts, bool in_place) {
    if (group.local()) return GroupRoute::local;
    if (in_place && on_this_host(group, facts)) {
        const bool chunks = facts.all_reduce || group.members > kMaxGroupReadWhole;
        return chunks ? GroupRoute::in_chunks : GroupRoute::read_whole;
    }
    return facts.transport_has_queue ? GroupRoute::queue : GroupRoute::messages;
}

/// True if ranks read the group's rows in place.
bool reads_in_place(GroupRoute route) {
    return route == GroupRoute::read_whole || route == GroupRoute::in_chunks ||
           route == GroupRoute::by_host;
}

RowForm form_of(const MixingPlan& plan, const RouteFacts& facts, const Routes& routes) {
    if (facts.coded) return RowForm::encoded;
    const bool travels = !plan.send.empty() || routes.has(GroupRoute::messages) ||
                         routes.has(GroupRoute::queue) || routes.by_library();
    const bool transport_reads_rows =
        !facts.on_device ||
        (routes.by_library() ? facts.transport_has_queue : facts.transport_reads_devices);
    return travels && !transport_reads_rows ? RowForm::staged : RowForm::unchanged;
}

void sort_unique(std::vector<int>& ranks) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

}  // namespace

bool Routes::has(GroupRoute route) const {
    return std::find(groups.begin(), groups.end(), route) != groups.end();
}

Routes choose_routes(const MixingPlan& plan, const RouteFacts& facts) {
    Routes routes;
    routes.in_place = may_share(facts) && facts.has_number;
    std::optional<GroupRoute> of_all_replicas;
    if (library_adds(plan, facts, routes.in_place)) {
        of_all_replicas = GroupRoute::library;
        routes.in_place = false;
    } else if (by_host(plan, facts, routes.in_place)) {
        of_all_replicas = GroupRoute::by_host;
        routes.hosts = facts.hosts;
    }

    const auto add_neighbours = [&](const std::vector<RankRows>& peers,
                                    std::vector<RowRoute>& chosen, std::vector<int>& in_place) {
        for (const RankRows& peer : peers) {
            const bool shares = routes.in_place && facts.shares_memory(peer.rank);
            chosen.push_back(shares ? RowRoute::in_place : RowRoute::message);
            if (shares) in_place.push_back(peer.rank);
        }
    };
    add_neighbours(plan.send, routes.send, routes.readers);
    add_neighbours(plan.receive, routes.receive, routes.sources);

    for (const GroupPlan& group : plan.groups) {
        const GroupRoute route = of_all_replicas && !group.local()
                                     ? *of_all_replicas
                                     : route_of(group, facts, routes.in_place);
        routes.groups.push_back(route);
        if (!reads_in_place(route)) continue;
        for (size_t part = 0; part < group.parts.size(); ++part) {
            if (static_cast<int>(part) == group.me) continue;
            if (!facts.shares_memory(group.parts[part].rank)) continue;
            routes.sources.push_back(group.parts[part].rank);
            routes.readers.push_back(group.parts[part].rank);
        }
    }
    sort_unique(routes.sources);
    sort_unique(routes.readers);
    routes.form = form_of(plan, facts, routes);
    return routes;
}

}  // namespace dbench::comm
