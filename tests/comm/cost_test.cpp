#include "catch.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/schedules.hpp"

namespace dbench::comm::tests {

constexpr graphs::Round kRound{0, true};

TEST_CASE("Each replica of a graph sends a row along each of its links") {
    const RoundCost ring = round_cost(circulant(8, {1, -1}), kRound);
    CHECK(ring.degree == 2);
    CHECK(ring.messages == 16);
    CHECK(ring.rows == 16);
    CHECK(ring.averages);
    const RoundCost one_way = round_cost(circulant(5, {1}), kRound);
    CHECK(one_way.degree == 1);
    CHECK(one_way.messages == 5);
}

TEST_CASE("A group counts as an all-reduce") {
    const RoundCost complete_graph = round_cost(complete(8), kRound);
    CHECK(complete_graph.degree == 7);
    CHECK(complete_graph.messages == 8 * 2 * 7);
    CHECK(complete_graph.rows == Approx(8 * 2.0 * 7 / 8));
    const RoundCost all_reduce = all_reduce_cost(8);
    CHECK(all_reduce.degree == complete_graph.degree);
    CHECK(all_reduce.messages == complete_graph.messages);
    CHECK(all_reduce.rows == complete_graph.rows);
    CHECK(complete_graph.gathered == Approx(complete_graph.rows / 2));

    // Groups of 3 and 2, and a path of two: 3 * 2 + 2 * 1 + 2 links over 7 replicas.
    const RoundCost both = round_cost(groups_and_path(7), kRound);
    CHECK(both.degree == Approx(10.0 / 7));
    CHECK(both.messages == 3 * 4 + 2 * 2 + 2);
    CHECK(both.rows == Approx(4 + 2 + 2));
    CHECK(both.gathered == Approx(4 / 2));  // A pair exchanges its rows and gathers no mean.
}

TEST_CASE("One replica, or W = I, sends nothing") {
    for (const RoundCost& cost :
         {round_cost(complete(1), kRound), round_cost(DenseSchedule(identity(4)), kRound),
          all_reduce_cost(1)}) {
        CHECK(cost.degree == 0);
        CHECK(cost.messages == 0);
        CHECK(cost.rows == 0);
        CHECK_FALSE(cost.averages);
    }
}

}  // namespace dbench::comm::tests
