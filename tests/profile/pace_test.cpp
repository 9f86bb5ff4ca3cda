// The estimate of a run's remaining time.

#include "profile/pace.hpp"

#include <cmath>

#include "catch.hpp"

namespace dbench::profile {

TEST_CASE("The remaining time is unknown until a second was measured") {
    Pace pace(1000, 100);
    CHECK(std::isnan(pace.remaining()));
    pace.add_progress(1, 5);  // The first iteration, which takes longer.
    CHECK(std::isnan(pace.remaining()));
    pace.add_progress(10, 5.9);
    CHECK(std::isnan(pace.remaining()));
    pace.add_progress(21, 7);
    CHECK(pace.remaining() == Catch::Approx(97.9));
}

TEST_CASE("Evaluations are timed separately, and each remaining one counts once") {
    Pace pace(1000, 300);
    pace.evaluated(30);
    pace.add_progress(1, 31);
    pace.add_progress(101, 41);
    CHECK(pace.remaining() == Catch::Approx(89.9 + 4 * 30));  // After 300, 600, 900 and 1000.
    pace.add_progress(301, 61);
    pace.evaluated(10);
    pace.add_progress(401, 81);
    CHECK(pace.remaining() == Catch::Approx(59.9 + 3 * 20));
}

TEST_CASE("The final evaluation counts once, even if a regular one coincides with it") {
    for (const int64_t every : {0, 50, 100}) {
        Pace pace(100, every);
        pace.evaluated(4);
        pace.add_progress(1, 4);
        pace.add_progress(99, 8);
        CHECK(pace.remaining() == Catch::Approx(4.0 / 98 + 4));
    }
}

}  // namespace dbench::profile
