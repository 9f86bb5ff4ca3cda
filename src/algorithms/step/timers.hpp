#pragma once
// Where an iteration's time goes. One phase is current at any moment; scopes nest, and the inner
// one's time is not counted in the outer.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arena/device/queue.hpp"
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

/// Phases one after another on a device's queue: what it ran, or waited for, between two moments.
struct Passage {
    struct Part {
        Time phase;
        std::shared_ptr<const arena::Moment> end;
    };
    std::shared_ptr<const arena::Moment> begin;
    std::vector<Part> parts;
};

/// Seconds of one rank, in the order of kTimeColumns.
class Times {
public:
    double& operator[](Time time) { return seconds_[static_cast<size_t>(time)]; }
    double operator[](Time time) const { return seconds_[static_cast<size_t>(time)]; }
    /// Adds a share of all that another has measured.
    void add(const Times& other, double share);
    /// Adds what a device will have measured, once it is settled.
    void add(std::shared_ptr<const Passage> passage);
    /// Adds what was left to a device, all of whose moments have passed by now.
    void settle();

private:
    struct Pending {
        std::shared_ptr<const Passage> passage;
        double share;
    };

    std::array<double, 9> seconds_{};
    std::vector<Pending> pending_;
};

/// By the clock of the host, or of the device that computes.
class Timers {
public:
    /// `queue`: of the step; null where the host computes.
    explicit Timers(arena::Queue* queue = nullptr) : queue_(queue) {}

    /// Begins an iteration: all zero, current phase `rest`.
    void start();
    void stop() { enter(Time::rest); }
    /// Makes `phase` current; returns the one that was.
    Time enter(Time phase);
    /// The same at the end of a scope. A device that has failed says so at the next call.
    void leave(Time phase) noexcept;

    /// What has been measured of a phase. Waits for the device.
    double seconds(Time phase) const;
    /// All phases, and as `step` the whole iteration without profiling. A device's are there once
    /// they are settled.
    Times all() const;

private:
    arena::Queue* queue_;
    Times spent_;                       // on the host
    std::shared_ptr<Passage> passage_;  // on a device
    Time current_ = Time::rest;
    double since_ = 0;
};

/// The enclosed block belongs to `phase`.
class TimedScope {
public:
    TimedScope(Timers& timers, Time phase) : timers_(timers), before_(timers.enter(phase)) {}
    ~TimedScope() { timers_.leave(before_); }
    TimedScope(const TimedScope&) = delete;
    TimedScope& operator=(const TimedScope&) = delete;

private:
    Timers& timers_;
    Time before_;
};

}  // namespace dbench::algorithms
