// Tests the choice of replicas that an evaluation evaluates.

#include "catch.hpp"
#include "train/evaluation/evaluation.hpp"

using namespace dbench;
using Replicas = std::vector<int64_t>;

TEST_CASE("evaluated replicas are spaced evenly") {
    CHECK(train::spaced_replicas(4, 4) == Replicas{0, 1, 2, 3});
    CHECK(train::spaced_replicas(4, 2) == Replicas{0, 2});
    CHECK(train::spaced_replicas(7, 3) == Replicas{0, 2, 4});
    CHECK(train::spaced_replicas(10, 4) == Replicas{0, 2, 5, 7});
    CHECK(train::spaced_replicas(5, 1) == Replicas{0});
}
