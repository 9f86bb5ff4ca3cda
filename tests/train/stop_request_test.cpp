#include "train/run/stop_request.hpp"

#include "catch.hpp"
#include "comm/ranks.hpp"
#include "comm/turns.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

constexpr int kRanks = 3;
constexpr int64_t kLast = 200000, kTogether = 50;

/// Returns the iteration before which each rank stops; kLast if it runs to the end. Rank 1 requests
/// a stop from iteration `wished` on. The ranks are late one after another, by `apart` iterations.
std::vector<std::string> stops(int64_t wished, int64_t apart = 1) {
    comm::tests::Turns turns(kRanks);
    return comm::tests::play(kRanks, [&](comm::World& world) -> std::string {
        const int me = world.rank();
        StopRequest stop(world, 7, apart);
        int64_t t = 7;
        for (; t < kLast; ++t) {
            const bool late = t % apart == 0 && t / apart % kRanks == me && t < kTogether;
            if (late && !turns.others_passed(t + apart - 1, me))
                return "they wait for " + std::to_string(me);
            if (stop.agreed(t, me == 1 && t >= wished)) return std::to_string(t);
            turns.pass(t, me);
        }
        stop.end();
        return std::to_string(t);
    });
}

}  // namespace

TEST_CASE("All ranks stop before the same iteration, and none waits for a late rank") {
    const std::vector<std::string> found = stops(1000);
    CHECK(found == std::vector<std::string>(kRanks, found[0]));
    CHECK(std::stoll(found[0]) > 1000);
    CHECK(std::stoll(found[0]) < kLast);
}

TEST_CASE("No rank waits for a rank that is late by the allowed number of iterations") {
    const std::vector<std::string> found = stops(1000, 16);
    CHECK(found == std::vector<std::string>(kRanks, found[0]));
    CHECK(std::stoll(found[0]) < kLast);
}

TEST_CASE("Without a request all ranks run to the end") {
    CHECK(stops(kLast) == std::vector<std::string>(kRanks, std::to_string(kLast)));
}

TEST_CASE("A single rank stops at once") {
    comm::World world{comm::alone()};
    StopRequest stop(world, 0);
    CHECK_FALSE(stop.agreed(0, false));
    CHECK(stop.agreed(1, true));
    stop.end();
}
