#include "catch.hpp"
#include "comm/service_checks.hpp"

namespace dbench::comm::tests {

TEST_CASE("Averages of pairs over MPI preserve the sum and terminate") {
    World world{launch()};
    if (world.size() == 1) return;
    uint64_t seed = 1;
    for (const Neighbours& graph : connected_graphs(world.size(), 1)) {
        CHECK(check_pairs(world, graph, ++seed, 30) == "");
    }
    CHECK(check_consensus(world, connected_graphs(world.size(), 1)[0], 1) == "");
}

TEST_CASE("Published rows over MPI arrive complete and in order") {
    World world{launch()};
    if (world.size() == 1) return;
    uint64_t seed = 1;
    for (const Neighbours& graph : connected_graphs(world.size(), 1)) {
        CHECK(check_mail(world, graph, ++seed, 30) == "");
    }
}

TEST_CASE("Asynchronous ranks of MPI agree on where to stop") {
    World world{launch()};
    if (world.size() == 1) return;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        CHECK(check_stop(world, connected_graphs(world.size(), seed)[1], seed) == "");
    }
}

}  // namespace dbench::comm::tests
