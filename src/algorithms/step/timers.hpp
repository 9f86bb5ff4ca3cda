#pragma once
// Where an iteration's time goes. One phase is current at any moment; scopes nest, and the inner
// one's time is not counted in the outer.

#include <array>

#include "base/clock.hpp"
#include "base/whereabouts.hpp"

namespace dbench::algorithms {

enum class Phase { data, gradient, update, exchange, control, profile, rest };
inline constexpr const char* kPhaseNames[] = {"data",    "gradient", "update", "exchange",
                                              "control", "profile",  "rest"};

class Timers {
public:
    /// Begins an iteration: all zero, current phase `rest`.
    void start() {
        spent_.fill(0);
        current_ = Phase::rest;
        base::note_phase(kPhaseNames[static_cast<int>(current_)]);
        since_ = base::now();
    }
    void stop() { enter(Phase::rest); }

    /// Makes `phase` current; returns the one that was.
    Phase enter(Phase phase) {
        const double at = base::now();
        spent_[static_cast<int>(current_)] += at - since_;
        since_ = at;
        const Phase before = current_;
        current_ = phase;
        base::note_phase(kPhaseNames[static_cast<int>(phase)]);
        return before;
    }

    double seconds(Phase phase) const { return spent_[static_cast<int>(phase)]; }
    /// Of the whole iteration without profiling.
    double step_seconds() const {
        double sum = 0;
        for (const double s : spent_) sum += s;
        return sum - seconds(Phase::profile);
    }

private:
    std::array<double, 7> spent_{};
    Phase current_ = Phase::rest;
    double since_ = 0;
};

/// The enclosed block belongs to `phase`.
class TimedScope {
public:
    TimedScope(Timers& timers, Phase phase) : timers_(timers), before_(timers.enter(phase)) {}
    ~TimedScope() { timers_.enter(before_); }
    TimedScope(const TimedScope&) = delete;
    TimedScope& operator=(const TimedScope&) = delete;

private:
    Timers& timers_;
    Phase before_;
};

}  // namespace dbench::algorithms
