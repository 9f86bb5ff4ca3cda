#include "comm/wait.hpp"

#include <sched.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {
namespace {

constexpr double kYieldSeconds = 20e-6;
constexpr double kDeafSeconds = 1e-3;    // without sleep, where every look takes long
constexpr double kLostSeconds = 200e-6;  // that a yield took: others have work for this core
constexpr double kLostFor = 0.1;         // seconds: so long it is not given away again
constexpr int kShortestSleep = 20, kLongestSleep = 200;  // us

/// Until when a yield would let somebody else compute for a slice, some milliseconds; who sleeps
/// is back soon.
thread_local double core_lost_until = 0;

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

double seconds_from_environment(const char* name, double standard) {
    const char* text = std::getenv(name);
    if (!text || !*text) return standard;
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (*end || !(seconds > 0)) {
        throw base::UserError(std::string(name) + "=" + text +
                              " is not a number of seconds above 0");
    }
    return seconds;
}

Blame blame_owing(const std::vector<int>& ranks) {
    return {"no answer from " + (ranks.empty() ? "the other ranks" : to_text(ranks)), ""};
}

}  // namespace

std::string to_text(const std::vector<int>& ranks) {
    constexpr size_t kNamed = 16;
    std::string text = ranks.size() == 1 ? "rank" : "ranks";
    for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
        text += (i ? ", " : " ") + std::to_string(ranks[i]);
    }
    if (ranks.size() > kNamed) text += " and " + std::to_string(ranks.size() - kNamed) + " others";
    return text;
}

double timeout() { return seconds_from_environment("DBENCH_TIMEOUT", 600); }
double stop_timeout() { return seconds_from_environment("DBENCH_STOP_TIMEOUT", 60); }

void Backoff::pause() {
    if (sleep_us_ == 0) {
        const double now = base::now();
        if (yielding_since_ < 0) yielding_since_ = now;
        if (now - yielding_since_ < kYieldSeconds && now > core_lost_until) {
            sched_yield();
            const double back = base::now();
            if (back - now > kLostSeconds) core_lost_until = back + kLostFor;
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
    double heard = start;
    Backoff backoff;
    for (;;) {
        const base::Stopwatch look;
        if (wait.done()) return;
        if (look.seconds() > kBusySeconds) backoff.reset();
        backoff.pause();
        const double now = base::now();
        if (!backoff.sleeping() && now - heard < kDeafSeconds) continue;
        heard = now;
        wait.check_failures();
        const double asked = base::noted_signal_time();  // to stop
        const bool stopping = now > asked && now - std::max(start, asked) > stop_timeout();
        if ((!stopping && now - start <= wait.deadline) || wait.done()) continue;
        const Blame blame = wait.ask ? wait.ask() : blame_owing(wait.owing());
        if (wait.done()) return;
        const std::string silent = blame.culprit + " within " +
                                   seconds_text(stopping ? stop_timeout() : wait.deadline) +
                                   blame.chain;
        throw Stalled(stopping ? base::noted_signal() + " could not be agreed on by all ranks (" +
                                     silent + " in " + wait.what +
                                     "): DBENCH_STOP_TIMEOUT sets the limit"
                               : wait.what + " stalled (" + silent +
                                     "): look at that rank's log and node; DBENCH_TIMEOUT sets "
                                     "the limit");
    }
}

void pause(double seconds, const std::function<void()>& check_failures) {
    constexpr double kLook = 0.01;  // seconds between two looks
    const base::Stopwatch watch;
    for (;;) {
        check_failures();
        const double left = seconds - watch.seconds();
        if (left <= 0 || !base::noted_signal().empty()) return;
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kLook)));
    }
}

}  // namespace dbench::comm
