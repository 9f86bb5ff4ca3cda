#include "comm/mixing/choose_routes.hpp"

#include <algorithm>

namespace dbench::comm {
namespace {

/// Mixing reads the rows of groups up to this size whole on every rank of the host. In larger
/// groups each rank computes one chunk of the mean, and the others copy it.
constexpr int64_t kMaxGroupReadWhole = 8;

/// True if ranks of this host may read this exchange's rows in place.
bool may_share(const RouteFacts& facts) {
    return facts.until_reclaimed && facts.readable && !facts.empty;
}

/// True if the plan is one group of all replicas which the library adds.
bool library_adds(const MixingPlan& plan, const RouteFacts& facts) {
    const bool all = plan.groups.size() == 1 && plan.groups[0].members == facts.replicas;
    // A sum of two rows has only one order, so the library has no choice to make, and reading in
    // place saves moving the rows.
    const bool of_two = may_share(facts) && facts.replicas == 2;
    return all && facts.library_sums && !facts.coded && !of_two;
}

GroupRoute route_of(const GroupPlan& group, const RouteFacts& facts, bool by_library,
                    bool in_place) {
    if (group.local()) return GroupRoute::local;
    if (by_library) return GroupRoute::library;
    const int me = group.parts[group.me].rank;
    const auto on_host = [&](const GroupPlan::Part& part) {
        return part.rank == me || facts.shares_memory(part.rank);
    };
    if (in_place && std::all_of(group.parts.begin(), group.parts.end(), on_host)) {
        const bool chunks = facts.all_reduce || group.members > kMaxGroupReadWhole;
        return chunks ? GroupRoute::in_chunks : GroupRoute::read_whole;
    }
    return facts.transport_has_queue ? GroupRoute::queue : GroupRoute::messages;
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
    const bool by_library = library_adds(plan, facts);
    routes.in_place = may_share(facts) && facts.has_number && !by_library;

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
        const GroupRoute route = route_of(group, facts, by_library, routes.in_place);
        routes.groups.push_back(route);
        if (route != GroupRoute::read_whole && route != GroupRoute::in_chunks) continue;
        for (size_t part = 0; part < group.parts.size(); ++part) {
            if (static_cast<int>(part) == group.me) continue;
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
