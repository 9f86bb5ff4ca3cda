#include "comm/wait.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "comm/failures.hpp"

namespace dbench::comm {
namespace {

constexpr double kYieldSeconds = 20e-6;  // yield for this long before the first sleep
/// Check for failures at least this often, even if no poll leads to a sleep.
constexpr double kFailureCheckInterval = 1e-3;
/// A yield that took longer gave the core to another process.
constexpr double kSlowYield = 200e-6;
constexpr double kYieldBackoff = 0.1;  // seconds without yields after such a yield
constexpr int kShortestSleep = 20, kLongestSleep = 200;  // microseconds

/// Until this time, sleep instead of yielding: the last sched_yield() took a scheduler slice of
/// some milliseconds, so other processes share this core. A sleep returns earlier than such a
/// yield.
thread_local double sleep_only_until = 0;

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

double seconds_from_environment(const char* name, double standard) {
    const char* text = std::getenv(name);
    if (!text || !*text) return standard;
    double seconds = 0;
    const char* const end = text + std::strlen(text);
    // Decimal notation, with a point in every locale.
    const auto read = std::from_chars(text, end, seconds);
    if (read.ec != std::errc() || read.ptr != end || !(seconds > 0) || !std::isfinite(seconds)) {
        throw base::UserError(std::string(name) + "=" + text +
                              " is not a number of seconds above 0 (600 or 2.5, for example)");
    }
    return seconds;
}

std::atomic<bool> stop_agreed = false;

/// True if a signal asked this rank to stop, not all ranks have agreed to stop, and a wait that
/// began at `start` has gone on for longer than `stop_timeout` since the signal.
bool stop_deadline_passed(double start, double now) {
    if (stop_agreed) return false;
    const double signal_time = base::first_signal_time();
    return now > signal_time && now - std::max(start, signal_time) > stop_timeout();
}

StallDiagnosis default_diagnosis(const std::vector<int>& ranks) {
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
void note_stop_agreed() { stop_agreed = true; }

void Backoff::pause() {
    if (sleep_us_ == 0) {
        const double now = base::now();
        if (yielding_since_ < 0) yielding_since_ = now;
        if (now - yielding_since_ < kYieldSeconds && now > sleep_only_until) {
            sched_yield();
            const double back = base::now();
            if (back - now > kSlowYield) sleep_only_until = back + kYieldBackoff;
            return;
        }
    }
    sleep_us_ = std::clamp(sleep_us_ * 3 / 2, kShortestSleep, kLongestSleep);
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
}

void shorten_sleeps() {
    prctl(PR_SET_TIMERSLACK, 5000UL);  // ns
}

void wait(const Wait& wait) {
    const double start = base::now();
    double last_check = start;
    Backoff backoff;
    for (;;) {
        const base::Stopwatch poll;
        if (wait.done()) return;
        if (poll.seconds() > kBusyPoll) backoff.reset();
        backoff.pause();
        const double now = base::now();
        if (!backoff.sleeping() && now - last_check < kFailureCheckInterval) continue;
        last_check = now;
        wait.check_failures();
        const bool stopping = stop_deadline_passed(start, now);
        const double since = wait.last_progress ? std::max(start, wait.last_progress()) : start;
        if ((!stopping && now - since <= wait.deadline) || wait.done()) continue;
        const StallDiagnosis diagnosis =
            wait.diagnose_stall ? wait.diagnose_stall() : default_diagnosis(wait.awaited_ranks());
        if (wait.done()) return;
        const std::string cause = diagnosis.culprit + " within " +
                                  seconds_text(stopping ? stop_timeout() : wait.deadline) +
                                  diagnosis.chain;
        throw Stalled(stopping
                          ? base::received_signal() + " could not be agreed on by all ranks (" +
                                cause + " in " + wait.what + "): DBENCH_STOP_TIMEOUT sets the limit"
                          : wait.what + " stalled (" + cause +
                                "): look at that rank's log and node; DBENCH_TIMEOUT sets "
                                "the limit");
    }
}

void check_stop_deadline(const std::string& what, double start) {
    if (!stop_deadline_passed(start, base::now())) return;
    throw Stalled(base::received_signal() + " could not end the run within " +
                  seconds_text(stop_timeout()) + ", because this rank still waits for " + what +
                  ": DBENCH_STOP_TIMEOUT sets the limit");
}

double pause(double seconds, const std::function<void()>& check_failures) {
    constexpr double kPollInterval = 0.01;  // seconds between two polls
    const base::Stopwatch watch;
    for (;;) {
        check_failures();
        const double slept = watch.seconds(), left = seconds - slept;
        if (left <= 0) return seconds;
        if (!base::received_signal().empty()) return slept;
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kPollInterval)));
    }
}

}  // namespace dbench::comm
