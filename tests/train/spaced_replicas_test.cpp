// Tests the choice of replicas that an evaluation evaluates.

#include "catch.hpp"
#include "train/evaluation/evaluation.hpp"

using namespace dbench;
using Indices = std::vector<int64_t>;

TEST_CASE("evaluated replicas are spaced evenly") {
    CHECK(train::spaced_replicas(4, 4) == Indices{0, 1, 2, 3});
    CHECK(train::spaced_replicas(4, 2) == Indices{0, 2});
    CHECK(train::spaced_replicas(7, 3) == Indices{0, 2, 4});
    CHECK(train::spaced_replicas(10, 4) == Indices{0, 2, 5, 7});
    CHECK(train::spaced_replicas(5, 1) == Indices{0});
}
