#include "comm/mixing/mixing_route.hpp"

#include <algorithm>

namespace dbench::comm {

bool set_terms_of_pair(const GroupPlan& group, const std::vector<const void*>& rows,
                       RowTerms& terms) {
    if (group.members != 2) return false;
    for (const int64_t row : group.rows) terms[row] = {{rows[0], 0.5}, {rows[1], 0.5}};
    return true;
}

std::vector<std::unique_ptr<MixingRoute>> make_routes(const MixingContext& context,
                                                      const TravellingRows& rows) {
    const Routes& routes = context.routes;
    const auto used = [](const std::vector<RowRoute>& chosen, RowRoute route) {
        return std::find(chosen.begin(), chosen.end(), route) != chosen.end();
    };
    std::vector<std::unique_ptr<MixingRoute>> list;
    if (used(routes.send, RowRoute::message) || used(routes.receive, RowRoute::message)) {
        list.push_back(neighbours_by_message(context, rows));
    }
    if (used(routes.receive, RowRoute::in_place)) list.push_back(neighbours_in_place(context));
    if (routes.has(GroupRoute::local)) list.push_back(local_groups(context));
    if (routes.has(GroupRoute::read_whole)) list.push_back(groups_read_whole(context));
    if (routes.has(GroupRoute::in_chunks)) list.push_back(groups_in_chunks(context));
    if (routes.has(GroupRoute::by_host)) list.push_back(group_by_host(context));
    if (routes.has(GroupRoute::messages)) list.push_back(groups_by_message(context, rows));
    if (routes.has(GroupRoute::queue)) list.push_back(groups_on_queue(context, rows));
    if (routes.has(GroupRoute::library)) list.push_back(group_by_library(context, rows));
    return list;
}

}  // namespace dbench::comm
