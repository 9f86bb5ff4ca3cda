#include "catch.hpp"
#include "comm/message_checks.hpp"

namespace dbench::comm::tests {

TEST_CASE("Opaque messages reach all their users on any number of ranks") {
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

TEST_CASE("Messages over links cost one message per link, even inside groups") {
    const RoundCost complete_cost = link_cost(complete(5), {0, true});
    CHECK(complete_cost.messages == 20);
    CHECK(complete_cost.degree == 4);
    CHECK(complete_cost.averages);
    CHECK_FALSE(link_cost(DenseSchedule(identity(3)), {0, true}).averages);
}

}  // namespace dbench::comm::tests
