#include "comm/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <thread>

#include "base/clock.hpp"
#include "base/in_child.hpp"
#include "base/signals.hpp"
#include "catch.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {
namespace {

double cpu_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Wait wait_for(std::function<bool()> done, double deadline) {
    return {"a test", std::move(done), [] { return std::vector<int>{3, 5}; }, [] {}, deadline};
}

}  // namespace

TEST_CASE("A text names the first ranks and counts the others") {
    CHECK(to_text({7}) == "rank 7");
    CHECK(to_text({3, 5}) == "ranks 3, 5");
    std::vector<int> ranks(16);
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::string named = "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15";
    CHECK(to_text(ranks) == named);
    ranks.insert(ranks.end(), {16, 17, 18});
    CHECK(to_text(ranks) == named + " and 3 others");
}

TEST_CASE("A wait releases the core") {
    const double start = base::now(), cpu = cpu_seconds();
    wait(wait_for([&] { return base::now() - start > 0.5; }, 60));
    CHECK(cpu_seconds() - cpu < 0.1);
}

TEST_CASE("A wait whose condition is true does not pause") {
    int polls = 0;
    wait(wait_for([&] { return ++polls > 0; }, 60));
    CHECK(polls == 1);
}

TEST_CASE("A wait ends at its deadline and names its purpose and the awaited ranks") {
    try {
        wait(wait_for([] { return false; }, 0.05));
        FAIL("it ended well");
    } catch (const Stalled& error) {
        CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("a test stalled") &&
                                     Catch::Matchers::ContainsSubstring("ranks 3, 5"));
    }
}

TEST_CASE("The deadline of a wait begins with the last progress of another rank") {
    const double start = base::now();
    Wait waiting = wait_for([] { return false; }, 0.1);
    waiting.last_progress = [&] { return std::min(base::now(), start + 0.5); };
    CHECK_THROWS_AS(wait(waiting), Stalled);
    CHECK(base::now() - start > 0.6);
    waiting.last_progress = [] { return 0.0; };  // before the start
    CHECK_THROWS_AS(wait(waiting), Stalled);
}

TEST_CASE("A wait ends when another rank has failed") {
    Wait waiting = wait_for([] { return false; }, 60);
    waiting.check_failures = [] { throw PeerFailure("rank 1 failed: it did"); };
    CHECK_THROWS_AS(wait(waiting), PeerFailure);
}

// Polls take long if other processes share the core: each poll begins before their time slice and
// ends after it.
TEST_CASE("A wait with slow polls ends at its deadline and when another rank has failed") {
    const double start = base::now();
    const auto long_poll = [&] {
        for (const double begun = base::now(); base::now() - begun < 5 * kBusyPoll;) continue;
        return base::now() - start > 20;  // bounds the test, in seconds
    };
    CHECK_THROWS_AS(wait(wait_for(long_poll, 0.05)), Stalled);
    Wait waiting = wait_for(long_poll, 60);
    waiting.check_failures = [] { throw PeerFailure("rank 1 failed: it did"); };
    CHECK_THROWS_AS(wait(waiting), PeerFailure);
}

TEST_CASE("Backoff sleeps for a while after a slow yield") {
    cpu_set_t before, one;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    std::atomic<bool> over = false;
    std::thread other([&] {  // on the same core
        while (!over) continue;
    });
    bool slept = false;
    for (const double start = base::now(); !slept && base::now() - start < 20;) {
        Backoff backoff;
        backoff.pause();
        slept = backoff.sleeping();
    }
    over = true;
    other.join();
    CHECK(slept);
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("A pause takes its time and releases the core") {
    const double start = base::now(), cpu = cpu_seconds();
    int polls = 0;
    pause(0.3, [&] { ++polls; });
    CHECK(base::now() - start >= 0.3);
    CHECK(cpu_seconds() - cpu < 0.1);
    CHECK(polls > 1);
}

TEST_CASE("A pause ends when another rank has failed, or with a signal") {
    CHECK_THROWS_AS(pause(1e9, [] { throw PeerFailure("rank 1 failed: it did"); }), PeerFailure);
    const auto ended = base::in_child([] {
        base::catch_signals();
        pause(1e9, [] { std::raise(SIGUSR1); });
        return 7;
    });
    CHECK(ended.exit_status == 7);
}

TEST_CASE("The limit after a signal ends when all ranks have agreed to stop") {
    const auto waits_after_signal = [](bool agreed) {
        return base::in_child([=] {
            setenv("DBENCH_STOP_TIMEOUT", "0.05", 1);
            base::catch_signals();
            std::raise(SIGUSR1);
            if (agreed) note_stop_agreed();
            const double end = base::now() + 0.3;
            try {
                wait(wait_for([=] { return base::now() > end; }, 60));
            } catch (const Stalled&) {
                return 5;
            }
            return 4;
        });
    };
    CHECK(waits_after_signal(false).exit_status == 5);
    CHECK(waits_after_signal(true).exit_status == 4);
}

}  // namespace dbench::comm
