// Reports of losses that are not finite.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "profile/nonfinite_losses.hpp"

using dbench::profile::NonfiniteLosses;

TEST_CASE("Losses that are not finite are reported once for each replica, the earliest first") {
    NonfiniteLosses losses(4);
    losses.add(5, 0, std::vector<double>{1.0, 2.0});
    CHECK_FALSE(losses.pending());
    // Rank by rank: rank 0 has replicas 0 and 1 in iterations 6 and 7, rank 1 has 2 and 3.
    losses.add(6, 0, std::vector<double>{1.0, 2.0});
    losses.add(7, 0, std::vector<double>{1.0, NAN});
    losses.add(6, 2, std::vector<double>{1.0, INFINITY});
    losses.add(7, 2, std::vector<double>{1.0, NAN});
    REQUIRE(losses.pending());
    CHECK(losses.iteration() == 6);
    CHECK(losses.report() ==
          "the training loss is not finite in iteration 6: of replica 3 and of 1 more");
    CHECK_FALSE(losses.pending());
    losses.add(8, 0, std::vector<double>{-INFINITY, NAN});
    REQUIRE(losses.pending());
    CHECK(losses.report() == "the training loss is not finite in iteration 8: of replica 0");
    losses.add(9, 0, std::vector<double>{NAN, NAN, NAN, NAN});
    CHECK(losses.iteration() == 9);
    CHECK(losses.report() == "the training loss is not finite in iteration 9: of replica 2");
}
