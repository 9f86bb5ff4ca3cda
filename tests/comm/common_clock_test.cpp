#include "comm/world/common_clock.hpp"

#include "catch.hpp"
#include "comm/ranks.hpp"

namespace dbench::comm::tests {

TEST_CASE("Clocks with artificial skew are corrected within the stated uncertainty") {
    for (const int ranks : {1, 2, 4}) {
        for (const std::string& problem : play(ranks, [](World& world) -> std::string {
                 const double skew = world.rank() * -1234.5;
                 const ClockOffset offset =
                     measure_clock_offset(world, [&] { return base::now() + skew; });
                 // All threads have the same clock, so the skew is the whole difference.
                 const double error = std::abs(offset.seconds + skew);
                 if (offset.uncertainty > 0.01) return "the uncertainty is large";
                 if (error > offset.uncertainty + 1e-9) return "off by " + std::to_string(error);
                 return "";
             })) {
            CHECK(problem == "");
        }
    }
}

TEST_CASE("The run's clock of every rank shows the seconds of rank 0") {
    for (const std::string& problem : play(3, [](World& world) -> std::string {
             const base::Stopwatch watch(world.rank() == 0 ? 100 : 5);
             const base::RunClock clock = common_clock(world, watch);
             std::vector<double> begin{world.rank() == 0 ? base::now() - watch.seconds() : 0};
             world.sum(begin);
             const double now = base::now();
             const double error = std::abs(clock.at(now) - (now - begin[0]));
             return error < clock.uncertainty + 1e-6 ? "" : "off by " + std::to_string(error);
         })) {
        CHECK(problem == "");
    }
}

}  // namespace dbench::comm::tests
