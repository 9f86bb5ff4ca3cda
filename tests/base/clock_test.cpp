#include "base/clock.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "catch.hpp"

namespace dbench::base {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace

TEST_CASE("The clock counts seconds and never runs backwards") {
    const double start = now();
    pause();
    const double passed = now() - start;
    CHECK(passed >= 0.02);
    CHECK(passed < 20);  // In seconds, not milliseconds; the limit is wide for a busy machine.
    double last = now();
    for (int i = 0; i < 1000; ++i) {
        const double next = now();
        REQUIRE(next >= last);
        last = next;
    }
}

TEST_CASE("A stopwatch measures the seconds since its construction") {
    const double before = now();
    const Stopwatch watch;
    const Stopwatch resumed(100);
    pause();
    const double seen = watch.seconds();
    CHECK(seen >= 0.02);
    CHECK(resumed.seconds() >= 100.02);
    CHECK(seen <= now() - before);
}

TEST_CASE("iso_time() returns UTC in ISO 8601 in every time zone") {
    ::setenv("TZ", "AWAY-5", 1);  // Five hours east of UTC.
    ::tzset();
    const std::time_t before = std::time(nullptr);
    const std::string text = iso_time();
    const std::time_t after = std::time(nullptr);
    ::unsetenv("TZ");
    ::tzset();
    REQUIRE(text.size() == std::string("2025-01-31T12:00:00Z").size());
    std::tm utc{};
    const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    REQUIRE((end != nullptr && *end == '\0'));
    const std::time_t told = timegm(&utc);
    CHECK(told >= before);
    CHECK(told <= after);
}

}  // namespace dbench::base
