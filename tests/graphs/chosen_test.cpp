// Schedules made of others: when they exchange for the first time, and when they repeat.

#include "graphs/schedules/chosen.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "catch.hpp"

using namespace dbench;
using namespace dbench::graphs;

namespace {

std::shared_ptr<const Schedule> ring() { return make_graph(base::Json("ring"), {8, 1}); }

bool exchanges(const Schedule& schedule, int64_t t) {
    const Round round = schedule.at(t);
    for (int i = 0; i < schedule.size(); ++i) {
        if (schedule.out(round, i).size() > 1) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("The first exchange is known without a walk over the run") {
    for (const int64_t period : {1, 2, 7, 40}) {
        for (const int64_t from : {0, 5}) {
            for (const int64_t inner : {1, 3, 60}) {
                for (const int64_t node : {1, 4}) {
                    CAPTURE(period, from, inner, node);
                    const auto inside = std::shared_ptr<const Schedule>(
                        every_so_often(node_average(8, node), no_exchange(8), inner));
                    for (const auto& between :
                         {std::shared_ptr<const Schedule>(no_exchange(8)), inside}) {
                        const auto made = every_so_often(ring(), between, period, from);
                        const int64_t first = made->first_exchange();
                        REQUIRE(first < 100);
                        for (int64_t t = 0; t < first; ++t) CHECK_FALSE(exchanges(*made, t));
                    }
                }
            }
        }
    }
    const auto seldom = every_so_often(ring(), no_exchange(8), 1'000'000'000);
    CHECK(seldom->first_exchange() == 999'999'999);
    CHECK(exchanges(*seldom, seldom->first_exchange()));
    CHECK(averaged_globally(ring(), 6)->first_exchange() == 0);
}

TEST_CASE("Periods that are too long for a number never end") {
    std::shared_ptr<const Schedule> schedule = ring();
    const int64_t prime = 2147483647;
    for (const int64_t period : {prime, prime - 18, prime - 60, prime - 150}) {
        schedule = every_so_often(schedule, no_exchange(8), period);
        CHECK(schedule->period() >= 0);
    }
    CHECK(schedule->period() == 0);
    CHECK(averaged_globally(every_so_often(ring(), no_exchange(8), 4), 6)->period() == 12);
}
