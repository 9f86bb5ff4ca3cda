// Tests of virtual time: the order in which turns end.

#include "algorithms/step/timeline.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "catch.hpp"

namespace dbench::algorithms {
namespace {

using Catch::Matchers::WithinAbs;

DelayRule slow(int64_t replica, double seconds) {
    return {{replica}, seconds, DelaySize::constant, 1.0};
}

struct Ended {
    Turn turn;
    double time;
};

std::vector<Ended> all_of(Timeline timeline) {
    std::vector<Ended> out;
    for (const auto* turns = &timeline.next(); !turns->empty(); turns = &timeline.next()) {
        for (const Turn& turn : *turns) out.push_back({turn, timeline.now()});
    }
    return out;
}

}  // namespace

TEST_CASE("Equally fast replicas end together, in the order of their numbers") {
    Timeline timeline(ComputeTimes({0.1, 0}), 4, 7, 10);
    double before = 0;
    for (int64_t t = 7; t < 10; ++t) {
        CHECK(timeline.next() == std::vector<Turn>{{0, t}, {1, t}, {2, t}, {3, t}});
        CHECK_THAT(timeline.now() - before, WithinAbs(0.1, 1e-12));
        before = timeline.now();
    }
    CHECK(timeline.next().empty());
    CHECK(timeline.next().empty());
}

TEST_CASE("A replica that is three times slower ends one turn while the others end three") {
    const ComputeTimes times({1, 0}, 1, Delays({slow(1, 2)}, 3, 1));
    Timeline timeline(times, 3, 0, 6);
    CHECK(timeline.next() == std::vector<Turn>{{0, 0}, {2, 0}});
    CHECK(timeline.next() == std::vector<Turn>{{0, 1}, {2, 1}});
    CHECK(timeline.next() == std::vector<Turn>{{0, 2}, {1, 0}, {2, 2}});
    CHECK(timeline.now() == 3);
}

TEST_CASE("Every replica runs every iteration once, each for its drawn time") {
    const ComputeTimes times({0.5, 0.8}, 3, Delays({slow(2, 0.7)}, 5, 1));
    std::map<int64_t, Ended> last;
    double now = 0;
    int64_t turns = 0;
    for (const Ended& ended : all_of(Timeline(times, 5, 4, 44))) {
        CHECK(ended.time >= now);
        now = ended.time;
        const auto [at, first] = last.try_emplace(ended.turn.replica, ended);
        CHECK(ended.turn.iteration == (first ? 4 : at->second.turn.iteration + 1));
        const double begun = first ? 0 : at->second.time;
        CHECK_THAT(ended.time - begun, WithinAbs(times.seconds(ended.turn), 1e-9));
        at->second = ended;
        ++turns;
    }
    CHECK(turns == 5 * 40);
    CHECK(all_of(Timeline(times, 5, 4, 4)).empty());
}

TEST_CASE("Times are drawn for each replica and iteration, around their mean") {
    const ComputeTimes times({2, 0.25}, 1), other({2, 0.25}, 2);
    double sum = 0;
    for (int64_t t = 0; t < 4000; ++t) {
        const double seconds = times.seconds({t % 7, t});
        CHECK((seconds >= 1.5 && seconds < 2.5));
        sum += seconds;
    }
    CHECK_THAT(sum / 4000, WithinAbs(2, 0.02));  // four standard deviations
    CHECK(times.seconds({0, 1}) != times.seconds({1, 0}));
    CHECK(times.seconds({0, 1}) != other.seconds({0, 1}));
}

}  // namespace dbench::algorithms
