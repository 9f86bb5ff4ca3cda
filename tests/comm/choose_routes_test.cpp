// Which routes an exchange takes, for each combination of facts that makes a difference.

#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/mixing/choose_routes.hpp"
#include "comm/schedules.hpp"

namespace dbench::comm::tests {
namespace {

/// Ranks 0 and 1 share memory, and so do 2 and 3.
bool two_per_host(int rank) { return rank < 2; }
bool all_on_one_host(int) { return true; }

/// Describes the routes of a rank: the form of its rows; per rank, the route to and from it; per
/// group, its route; the ranks that it reads and those that read it in place.
std::string described(const MixingPlan& plan, const Routes& routes) {
    const auto name = [](RowRoute route) { return route == RowRoute::message ? "msg" : "place"; };
    std::string text = routes.form == RowForm::unchanged ? "unchanged"
                       : routes.form == RowForm::staged  ? "staged"
                                                         : "encoded";
    for (size_t k = 0; k < routes.send.size(); ++k) {
        text += " to" + std::to_string(plan.send[k].rank) + ":" + name(routes.send[k]);
    }
    for (size_t k = 0; k < routes.receive.size(); ++k) {
        text += " from" + std::to_string(plan.receive[k].rank) + ":" + name(routes.receive[k]);
    }
    for (const GroupRoute route : routes.groups) {
        const char* const names[] = {"local",   "whole", "chunks", "messages",
                                     "by host", "queue", "library"};
        text += std::string(" group:") + names[static_cast<int>(route)];
    }
    const auto list = [&](const char* what, const std::vector<int>& ranks) {
        if (!ranks.empty()) text += what;
        for (const int rank : ranks) text += std::to_string(rank);
    };
    list(" reads:", routes.sources);
    list(" readers:", routes.readers);
    return routes.in_place ? text + " offered" : text;
}

/// The replicas in a ring; each uses itself and the next one.
MixingPlan ring_plan(int n, int ranks, Contribution contribution = Contribution::subtrees) {
    return make_mixing_plan(circulant(n, {1}), {0, true}, {n, ranks}, 0, contribution);
}
MixingPlan both_ways_plan(int n, int ranks) {
    return make_mixing_plan(circulant(n, {1, -1}), {0, true}, {n, ranks}, 0);
}
MixingPlan groups_plan(int n, int ranks, const std::vector<std::vector<int>>& members) {
    return make_mixing_plan(grouped(n, members), {0, true}, {n, ranks}, 0);
}
MixingPlan mean_plan(int n, int ranks) { return make_mean_plan({n, ranks}, 0); }

RouteFacts route_facts(int64_t replicas, const std::set<std::string>& names) {
    std::set<std::string> left = names;
    const auto has = [&](const char* name) { return left.erase(name) > 0; };
    RouteFacts facts{replicas};
    facts.library_sums = has("library");
    facts.coded = has("coded");
    facts.all_reduce = has("all-reduce");
    facts.empty = has("empty");
    facts.until_reclaimed = has("reclaimed");
    facts.has_number = !has("no number");
    facts.transport_has_queue = has("nccl");
    facts.transport_reads_devices = facts.transport_has_queue || has("cuda-aware");
    facts.on_device = has("gpu");
    if (has("shared")) facts.shares_memory = all_on_one_host;
    if (has("half shared")) facts.shares_memory = two_per_host;
    static const RanksByHost two_hosts{{0, 1}, {2, 3}}, one_host{{0, 1, 2, 3}},
        mixed{{0, 2}, {1, 3}};
    static const RanksByHost unequal{{0, 1}, {2, 3, 4}};
    if (has("one host")) facts.hosts = &one_host;
    if (has("two hosts")) facts.hosts = &two_hosts;
    if (has("mixed hosts")) facts.hosts = &mixed;
    if (has("unequal hosts")) facts.hosts = &unequal;
    facts.peer_readable = facts.shares_memory != nullptr;
    REQUIRE(left == std::set<std::string>{});
    return facts;
}

struct RouteCase {
    MixingPlan plan;
    int64_t replicas;
    std::set<std::string> facts;
    std::string routes;
};

}  // namespace

TEST_CASE("Neighbours' rows take the route that the facts demand") {
    const std::string messages = " to1:msg to3:msg from1:msg from3:msg";
    const std::string in_place = " to1:place to3:place from1:place from3:place";
    const std::string read = " reads:13 readers:13 offered";
    const MixingPlan plan = both_ways_plan(4, 4);
    for (const RouteCase& each : std::vector<RouteCase>{
             {both_ways_plan(4, 1), 4, {}, "unchanged"},
             {both_ways_plan(4, 1), 4, {"gpu"}, "unchanged"},
             {plan, 4, {}, "unchanged" + messages},
             {plan, 4, {"coded"}, "encoded" + messages},
             {plan, 4, {"library"}, "unchanged" + messages},
             // Only MPI without device support needs a copy in host memory; words are there anyway.
             {plan, 4, {"gpu"}, "staged" + messages},
             {plan, 4, {"gpu", "coded"}, "encoded" + messages},
             {plan, 4, {"gpu", "cuda-aware"}, "unchanged" + messages},
             {plan, 4, {"gpu", "nccl"}, "unchanged" + messages},
             // In place: if the rows remain until they are reclaimed, and only on this host.
             {plan, 4, {"shared"}, "unchanged" + messages},
             {plan, 4, {"reclaimed"}, "unchanged" + messages},
             {plan, 4, {"shared", "reclaimed"}, "unchanged" + in_place + read},
             {plan, 4, {"shared", "reclaimed", "library"}, "unchanged" + in_place + read},
             {plan, 4, {"shared", "reclaimed", "coded"}, "encoded" + in_place + read},
             {plan, 4, {"shared", "reclaimed", "empty"}, "unchanged" + messages},
             {plan, 4, {"shared", "reclaimed", "no number"}, "unchanged" + messages},
             {plan,
              4,
              {"half shared", "reclaimed"},
              "unchanged to1:place to3:msg from1:place from3:msg reads:1 readers:1 offered"},
             // One direction: a rank may be read without reading.
             {ring_plan(4, 4),
              4,
              {"half shared", "reclaimed"},
              "unchanged to3:msg from1:place reads:1 offered"},
         }) {
        const Routes routes = choose_routes(each.plan, route_facts(each.replicas, each.facts));
        CHECK(described(each.plan, routes) == each.routes);
    }
}

TEST_CASE("Groups are averaged on the route that the facts demand") {
    const MixingPlan all = mean_plan(4, 4), large = mean_plan(12, 4), two = mean_plan(2, 2);
    const MixingPlan pairs = groups_plan(4, 2, {{0, 1}, {2, 3}});
    const std::string offered = " reads:123 readers:123 offered";
    for (const RouteCase& each : std::vector<RouteCase>{
             {mean_plan(4, 1), 4, {"all-reduce"}, "unchanged group:local"},
             {mean_plan(4, 1), 4, {"all-reduce", "library"}, "unchanged group:local"},
             {pairs, 4, {"shared", "reclaimed"}, "unchanged group:local offered"},
             {all, 4, {"all-reduce"}, "unchanged group:messages"},
             {all, 4, {}, "unchanged group:messages"},
             {all, 4, {"coded"}, "encoded group:messages"},
             {all, 4, {"nccl"}, "unchanged group:queue"},
             {all, 4, {"nccl", "gpu"}, "unchanged group:queue"},
             {all, 4, {"nccl", "gpu", "coded"}, "encoded group:queue"},
             {all, 4, {"gpu"}, "staged group:messages"},
             {all, 4, {"gpu", "cuda-aware"}, "unchanged group:messages"},
             // The library adds all replicas, but neither 16-bit rows nor other groups.
             {all, 4, {"library"}, "unchanged group:library"},
             {all, 4, {"library", "all-reduce"}, "unchanged group:library"},
             {all, 4, {"library", "nccl", "gpu"}, "unchanged group:library"},
             {all, 4, {"library", "gpu"}, "staged group:library"},
             {all, 4, {"library", "gpu", "cuda-aware"}, "staged group:library"},
             {all, 4, {"library", "empty"}, "unchanged group:messages"},
             {all, 4, {"library", "coded"}, "encoded group:messages"},
             {groups_plan(6, 3, {{0, 2}}), 6, {"library"}, "unchanged group:messages"},
             // Ranks of one host that read rows in place are faster than the library.
             {all, 4, {"library", "shared"}, "unchanged group:library"},
             {all, 4, {"library", "shared", "reclaimed"}, "unchanged group:whole" + offered},
             {all,
              4,
              {"library", "shared", "one host", "reclaimed", "all-reduce"},
              "unchanged group:chunks" + offered},
             {all, 4, {"library", "shared", "reclaimed", "no number"}, "unchanged group:library"},
             {two, 2, {"library"}, "unchanged group:library"},
             {two,
              2,
              {"library", "shared", "reclaimed"},
              "unchanged group:whole reads:1 readers:1 offered"},
             // Hosts add their own rows first: if the order is free, or if the fixed tree does so.
             {all,
              4,
              {"library", "half shared", "two hosts", "reclaimed"},
              "unchanged group:by host reads:1 readers:1 offered"},
             {all,
              4,
              {"half shared", "two hosts", "reclaimed", "all-reduce"},
              "unchanged group:by host reads:1 readers:1 offered"},
             {mean_plan(5, 4),
              5,
              {"half shared", "two hosts", "reclaimed"},
              "unchanged group:messages offered"},
             {mean_plan(5, 4),
              5,
              {"library", "half shared", "two hosts", "reclaimed"},
              "unchanged group:by host reads:1 readers:1 offered"},
             {all,
              4,
              {"half shared", "mixed hosts", "reclaimed"},
              "unchanged group:messages offered"},
             {mean_plan(5, 5),
              5,
              {"half shared", "unequal hosts", "reclaimed"},
              "unchanged group:messages offered"},
             {all,
              4,
              {"half shared", "two hosts", "reclaimed", "coded"},
              "encoded group:messages offered"},
             {all, 4, {"library", "half shared", "two hosts"}, "unchanged group:library"},
             // A rank without such memory: the library adds everywhere.
             {all, 4, {"library", "half shared", "reclaimed"}, "unchanged group:library"},
             // In place: small groups whole, large ones and all-reduces in chunks.
             {all, 4, {"shared", "reclaimed"}, "unchanged group:whole" + offered},
             {all, 4, {"shared", "reclaimed", "coded"}, "encoded group:whole" + offered},
             {all, 4, {"shared", "reclaimed", "all-reduce"}, "unchanged group:chunks" + offered},
             {all,
              4,
              {"shared", "reclaimed", "all-reduce", "coded"},
              "encoded group:chunks" + offered},
             {mean_plan(8, 4), 8, {"shared", "reclaimed"}, "unchanged group:whole" + offered},
             {large, 12, {"shared", "reclaimed"}, "unchanged group:chunks" + offered},
             {large, 12, {"shared"}, "unchanged group:messages"},
             {large, 12, {"shared", "reclaimed", "no number"}, "unchanged group:messages"},
             // A group with a member on another host gets messages; others remain in place.
             {all, 4, {"half shared", "reclaimed"}, "unchanged group:messages offered"},
             {groups_plan(8, 4, {{0, 2}, {1, 7}}),
              8,
              {"half shared", "reclaimed"},
              "unchanged group:whole group:messages reads:1 readers:1 offered"},
         }) {
        const Routes routes = choose_routes(each.plan, route_facts(each.replicas, each.facts));
        CHECK(described(each.plan, routes) == each.routes);
    }
}

}  // namespace dbench::comm::tests
