#pragma once
// Where an iteration's time goes. One phase is current at any moment; scopes nest, and the inner
// one's time is not counted in the outer.

#include <array>
#include <cstdint>

#include "base/clock.hpp"
#include "base/whereabouts.hpp"

namespace dbench::algorithms {

/// What a rank measures in an iteration: `step`, or a phase of it. `rest` is what no other
/// explains; `delay` is no phase but what the spec's /delays add to `gradient`.
enum class Time : uint8_t { step, data, gradient, update, exchange, control, profile, rest, delay };

/// A word for it, for people.
inline const char* phase_name(Time time) {
    constexpr const char* kNames[] = {"step",    "data",    "gradient", "update", "exchange",
                                      "control", "profile", "rest",     "delay"};
    return kNames[static_cast<size_t>(time)];
}

/// A column [I, r] of the result file: one row here, and every rank's value is stored, in seconds.
struct TimeColumn {
    Time time;
    const char* name;
    const char* help;
};
inline constexpr std::array<TimeColumn, 8> kTimeColumns{{
    {Time::step, "step_time", "time of the iteration without profiling and evaluation"},
    {Time::data, "time_data", "part of step_time: waiting for data"},
    {Time::gradient, "time_gradient", "part of step_time: forward and backward"},
    {Time::delay, "time_delay", "part of time_gradient: what /delays of the spec add"},
    {Time::update, "time_update", "part of step_time: optimizer"},
    {Time::exchange, "time_exchange", "part of step_time: what of the exchange was exposed"},
    {Time::control, "time_control", "part of step_time: measuring for a controller of the graph"},
    {Time::profile, "time_profile", "profiling, beside step_time"},
}};

/// Seconds of one rank, in the order of kTimeColumns.
class Times {
public:
    double& operator[](Time time) { return seconds_[static_cast<size_t>(time)]; }
    double operator[](Time time) const { return seconds_[static_cast<size_t>(time)]; }
    /// Adds a share of all that another has measured.
    void add(const Times& other, double share) {
        for (size_t k = 0; k < seconds_.size(); ++k) seconds_[k] += share * other.seconds_[k];
    }

private:
    std::array<double, 9> seconds_{};
};

class Timers {
public:
    /// Begins an iteration: all zero, current phase `rest`.
    void start() {
        spent_ = {};
        current_ = Time::rest;
        base::note_phase(phase_name(current_));
        since_ = base::now();
    }
    void stop() { enter(Time::rest); }

    /// Makes `phase` current; returns the one that was.
    Time enter(Time phase) {
        const double at = base::now();
        spent_[current_] += at - since_;
        since_ = at;
        const Time before = current_;
        current_ = phase;
        base::note_phase(phase_name(phase));
        return before;
    }

    double seconds(Time phase) const { return spent_[phase]; }
    /// All phases, and as `step` the whole iteration without profiling.
    Times all() const {
        Times out = spent_;
        for (const Time part : {Time::data, Time::gradient, Time::update, Time::exchange,
                                Time::control, Time::rest}) {
            out[Time::step] += spent_[part];
        }
        return out;
    }

private:
    Times spent_;
    Time current_ = Time::rest;
    double since_ = 0;
};

/// The enclosed block belongs to `phase`.
class TimedScope {
public:
    TimedScope(Timers& timers, Time phase) : timers_(timers), before_(timers.enter(phase)) {}
    ~TimedScope() { timers_.enter(before_); }
    TimedScope(const TimedScope&) = delete;
    TimedScope& operator=(const TimedScope&) = delete;

private:
    Timers& timers_;
    Time before_;
};

}  // namespace dbench::algorithms
