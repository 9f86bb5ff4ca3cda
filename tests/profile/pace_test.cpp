#include "profile/pace.hpp"

#include <cmath>

#include "catch.hpp"

namespace dbench::profile {

TEST_CASE("Nothing is foretold before a second was measured") {
    Pace pace(1000, 100);
    CHECK(std::isnan(pace.left()));
    pace.reached(1, 5);  // the first iteration, which takes longer
    CHECK(std::isnan(pace.left()));
    pace.reached(10, 5.9);
    CHECK(std::isnan(pace.left()));
    pace.reached(21, 7);
    CHECK(pace.left() == Catch::Approx(97.9));
}

TEST_CASE("Evaluations are counted apart, each still to come once") {
    Pace pace(1000, 300);
    pace.evaluated(30);
    pace.reached(1, 31);
    pace.reached(101, 41);
    CHECK(pace.left() == Catch::Approx(89.9 + 4 * 30));  // after 300, 600, 900 and 1000
    pace.reached(301, 61);
    pace.evaluated(10);
    pace.reached(401, 81);
    CHECK(pace.left() == Catch::Approx(59.9 + 3 * 20));
}

TEST_CASE("The final evaluation is one, also where one is due there") {
    for (const int64_t every : {0, 50, 100}) {
        Pace pace(100, every);
        pace.evaluated(4);
        pace.reached(1, 4);
        pace.reached(99, 8);
        CHECK(pace.left() == Catch::Approx(4.0 / 98 + 4));
    }
}

}  // namespace dbench::profile
