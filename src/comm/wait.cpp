#include "comm/wait.hpp"

#include <sched.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/clock.hpp"
#include "comm/world.hpp"

namespace dbench::comm {
namespace {

constexpr double kYieldSeconds = 20e-6;
constexpr int kShortestSleep = 20, kLongestSleep = 200;  // us

std::string list(const std::vector<int>& ranks) {
    constexpr size_t kNamed = 16;
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
        text += (i ? ", " : " ") + std::to_string(ranks[i]);
    }
    if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " others";
    return text;
}

}  // namespace

void Backoff::pause() {
    if (sleep_us_ == 0) {
        const double now = base::now();
        if (yielding_since_ < 0) yielding_since_ = now;
        if (now - yielding_since_ < kYieldSeconds) {
            sched_yield();
            return;
        }
    }
    sleep_us_ = std::clamp(sleep_us_ * 3 / 2, kShortestSleep, kLongestSleep);
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
}

void shorten_sleeps() {
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 5000UL);  // ns
#endif
}

void wait(const Wait& wait) {
    const double start = base::now();
    Backoff backoff;
    while (!wait.done()) {
        backoff.pause();
        if (!backoff.sleeping()) continue;
        wait.check_failures();
        if (base::now() - start > wait.deadline && !wait.done()) {
            const std::vector<int> ranks = wait.owing();
            char seconds[32];
            std::snprintf(seconds, sizeof seconds, "%g", wait.deadline);
            throw Stalled(wait.what + " stalled (no answer from " +
                          (ranks.empty() ? "the other ranks" : list(ranks)) + " within " + seconds +
                          " s): look at that rank's log and node; DBENCH_TIMEOUT sets the limit");
        }
    }
}

}  // namespace dbench::comm
