// Schedules made of other schedules: their first exchange, their period, the rounds of a sequence
// that they use, and the names of those rounds.

#include "graphs/schedules/selection.hpp"

#include <limits>
#include <set>

#include "graphs/schedules/round_names.hpp"
#include "staged.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

std::shared_ptr<const Schedule> ring_selection() { return make_graph(base::Json("ring"), {8, 1}); }

bool exchanges(const Schedule& schedule, int64_t t) {
    const Round round = schedule.at(t);
    for (int i = 0; i < schedule.size(); ++i) {
        if (schedule.out(round, i).size() > 1) return true;
    }
    return false;
}

/// Returns the offset to which replica 0 sends in iteration t; 0: to no replica, n: to several.
int offset(const Schedule& schedule, int64_t t) {
    const std::vector<Link> links = schedule.out(schedule.at(t), 0);
    if (links.size() > 2) return schedule.size();
    return links.back().peer;
}

}  // namespace

TEST_CASE("Names of parts are unique and can be decoded") {
    std::set<uint64_t> seen;
    for (uint64_t part = 0; part < 70; ++part) {
        for (uint64_t name = 0; name < 70; ++name) {
            const uint64_t both = join_names({part, name});
            CHECK(split_name(both) == PartName{part, name});
            CHECK(seen.insert(both).second);
        }
    }
    const uint64_t most = std::numeric_limits<uint64_t>::max();
    CHECK(split_name(join_names({0, most >> 1})) == PartName{0, most >> 1});
    CHECK(split_name(join_names({(1u << 31) - 2, 1})) == PartName{(1u << 31) - 2, 1});
    CHECK_THROWS_AS(join_names({0, most}), base::UserError);
    CHECK_THROWS_AS(join_names({1, most >> 2}), base::UserError);
    CHECK_THROWS_AS(join_names({uint64_t{1} << 32, 0}), base::UserError);
    CHECK_THROWS_AS(join_names({most, 0}), base::UserError);
}

TEST_CASE("Counts of uses agree with counting one by one") {
    for (const UsePattern uses :
         {UsePattern{1, 0, 0}, UsePattern{4, 0, 0}, UsePattern{3, 7, 0}, UsePattern{1, 0, 5},
          UsePattern{4, 0, 6}, UsePattern{4, 9, 6}, UsePattern{2, 0, 1}, UsePattern{3, 0, 3}}) {
        int64_t count = 0;
        for (int64_t t = 0; t < 100; ++t) {
            CAPTURE(uses.period, uses.from, uses.instead, t);
            CHECK(uses.before(t) == count);
            count += uses.in(t);
        }
        for (const int64_t rounds : {1, 3, 4}) {  // rounds of a sequence
            const int64_t repeats = uses.repeats(rounds);
            CHECK((repeats == 0) == (uses.from > 0));
            if (repeats == 0) continue;
            CHECK(uses.before(repeats) % rounds == 0);
            for (int64_t t = 0; t < 50; ++t) CHECK(uses.in(t + repeats) == uses.in(t));
        }
    }
}

TEST_CASE("Local steps go through every round of each of a list's sequences") {
    const auto list = made(R"([{"type": "one_peer_exponential", "until": {"iterations": 41}},
                               {"type": "ring", "until": {"iterations": 50}},
                               "one_peer_exponential"])",
                           16);
    const auto local = periodic_schedule(list, no_exchange_schedule(16), 4);
    std::vector<int> used[2];
    for (int64_t t = 0; t < 100; ++t) {
        if ((t + 1) % 4 != 0) {
            CHECK(offset(*local, t) == 0);
        } else if (t < 41 || t >= 50) {
            used[t >= 50].push_back(offset(*local, t));
        } else {
            CHECK(offset(*local, t) == 16);
        }
    }
    CHECK(used[0] == std::vector<int>{1, 2, 4, 8, 1, 2, 4, 8, 1, 2});
    CHECK(used[1] == std::vector<int>{1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 1});
    // Rounds do not depend on the order of requests.
    const auto again = periodic_schedule(list, no_exchange_schedule(16), 4);
    for (int64_t t = 99; t >= 0; --t) CHECK(again->at(t).matrix == local->at(t).matrix);
}

TEST_CASE("A graph that is used again continues with its next round") {
    const auto graph = made(R"({"type": "budget", "order": "uniform", "models": 3,
                                "dense": {"type": "ring_lattice", "k": 6},
                                "sparse": "one_peer_exponential"})",
                            16);
    const auto local = periodic_schedule(graph, no_exchange_schedule(16), 4);
    int uses = 0;
    for (int64_t t = 3; t < 100; t += 4) {
        const int sent = offset(*local, t);
        if (sent != 16) CHECK(sent == 1 << (uses++ % 4));
    }
    CHECK(uses > 8);
}

TEST_CASE("A global average delays the graph's round and leaves none out") {
    const auto pairs = made(R"("one_peer_exponential")", 8);
    const auto global = with_global_averages(pairs, {.instead = 3});
    for (int64_t t = 0; t < 18; ++t) {
        CHECK(offset(*global, t) == (t % 3 == 2 ? 8 : 1 << ((t - t / 3) % 3)));
        CHECK(global->at(t).matrix == global->at(t + global->period()).matrix);
    }
    // The graph is used in every second iteration; every third of those is global.
    const auto seldom = with_global_averages(pairs, {.period = 2, .instead = 6});
    for (const auto& [t, sent] : {std::pair{0, 0},
                                  {1, 1},
                                  {2, 0},
                                  {3, 2},
                                  {4, 0},
                                  {5, 8},
                                  {6, 0},
                                  {7, 4},
                                  {8, 0},
                                  {9, 1},
                                  {10, 0},
                                  {11, 8}}) {
        CHECK(offset(*seldom, t) == sent);
    }
}

TEST_CASE("The certified round keeps its name in schedules made of the graph") {
    for (const char* spec : {R"("one_peer_exponential")", R"([{"type": "torus",
                             "until": {"epochs": 1}}, "ring"])"}) {
        const auto graph = made(spec, 8);
        const auto local = periodic_schedule(graph, no_exchange_schedule(8), 4);
        const auto global = with_global_averages(graph, {.instead = 4});
        for (const Schedule& schedule :
             {std::cref(*graph), std::cref<Schedule>(*local), std::cref<Schedule>(*global)}) {
            CHECK(schedule.in(schedule.certified(), 3).size() == graph->in(graph->at(0), 3).size());
        }
        CHECK(local->certified().matrix == local->at(3).matrix);
        CHECK(global->certified().matrix == global->at(0).matrix);
    }
}

TEST_CASE("The first exchange is known without searching the run") {
    for (const int64_t period : {1, 2, 7, 40}) {
        for (const int64_t from : {0, 5}) {
            for (const int64_t inner : {1, 3, 60}) {
                for (const int64_t node : {1, 4}) {
                    CAPTURE(period, from, inner, node);
                    const auto inside = std::shared_ptr<const Schedule>(
                        periodic_schedule(node_average(8, node), no_exchange_schedule(8), inner));
                    for (const auto& between :
                         {std::shared_ptr<const Schedule>(no_exchange_schedule(8)), inside}) {
                        const auto made =
                            periodic_schedule(ring_selection(), between, period, from);
                        const int64_t first = made->first_exchange();
                        REQUIRE(first < 100);
                        for (int64_t t = 0; t < first; ++t) CHECK_FALSE(exchanges(*made, t));
                    }
                }
            }
        }
    }
    const auto seldom = periodic_schedule(ring_selection(), no_exchange_schedule(8), 1'000'000'000);
    CHECK(seldom->first_exchange() == 999'999'999);
    CHECK(exchanges(*seldom, seldom->first_exchange()));
    CHECK(with_global_averages(ring_selection(), {.instead = 6})->first_exchange() == 0);
    CHECK(with_global_averages(ring_selection(), {.period = 4, .instead = 6})->first_exchange() ==
          3);
}

TEST_CASE("Periods that exceed 64 bits count as endless") {
    std::shared_ptr<const Schedule> schedule = ring_selection();
    const int64_t prime = 2147483647;
    for (const int64_t period : {prime, prime - 18, prime - 60, prime - 150}) {
        schedule = periodic_schedule(schedule, no_exchange_schedule(8), period);
        CHECK(schedule->period() >= 0);
    }
    CHECK(schedule->period() == 0);
    const auto fourth = std::shared_ptr<const Schedule>(
        periodic_schedule(ring_selection(), no_exchange_schedule(8), 4));
    CHECK(with_global_averages(fourth, {.instead = 6})->period() == 24);
}
