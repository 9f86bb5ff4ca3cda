#include "catch.hpp"
#include "comm/message_checks.hpp"

namespace dbench::comm::tests {

TEST_CASE("Messages reach all who use them, from one process to a rank for each replica") {
    for (const int ranks : {1, 2, 3, 5}) {
        for (int n = ranks; n <= 7; ++n) {
            for (const DenseSchedule& schedule : all_schedules(n)) {
                INFO(n << " replicas on " << ranks << " ranks");
                const auto problems =
                    play(ranks, [&](World& world) { return check_messages(world, schedule); });
                for (const std::string& problem : problems) CHECK(problem == "");
                const auto of_links =
                    play(ranks, [&](World& world) { return check_link_messages(world, schedule); });
                for (const std::string& problem : of_links) CHECK(problem == "");
            }
        }
    }
}

TEST_CASE("A message over each link is what links cost, in groups, too") {
    const RoundCost complete_cost = link_cost(complete(5), {0, true});
    CHECK(complete_cost.messages == 20);
    CHECK(complete_cost.degree == 4);
    CHECK(complete_cost.averages);
    CHECK_FALSE(link_cost(DenseSchedule(identity(3)), {0, true}).averages);
}

}  // namespace dbench::comm::tests
