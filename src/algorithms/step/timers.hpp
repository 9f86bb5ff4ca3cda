#pragma once
// Measures how an iteration's time divides into phases. Exactly one phase is current at any moment.
// Scopes nest; the time of an inner scope does not count for the outer one.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "arena/device/queue.hpp"
#include "base/clock.hpp"
#include "base/run_position.hpp"

namespace dbench::algorithms {

/// The times of a rank in an iteration: `step`, or a phase of it. `rest` is the time that belongs
/// to no other phase. `delay` is not a phase: it is the part of `gradient` that the spec's /delays
/// add.
enum class Time : uint8_t { step, data, gradient, update, exchange, control, profile, rest, delay };

/// Returns the phase's name for messages.
inline const char* phase_name(Time time) {
    constexpr const char* kNames[] = {"step",    "data",    "gradient", "update", "exchange",
                                      "control", "profile", "rest",     "delay"};
    return kNames[static_cast<size_t>(time)];
}

/// A column [I, r] of the result file: seconds, one row per iteration and one value per rank.
struct TimeColumn {
    Time time;
    const char* name;
    const char* help;
};
inline constexpr std::array<TimeColumn, 8> kTimeColumns{{
    {Time::step, "step_time", "time of the iteration without profiling and evaluation"},
    {Time::data, "time_data", "part of step_time: waiting for data"},
    {Time::gradient, "time_gradient", "part of step_time: forward and backward"},
    {Time::delay, "time_delay", "part of time_gradient: delays by /delays of the spec"},
    {Time::update, "time_update", "part of step_time: optimizer"},
    {Time::exchange, "time_exchange", "part of step_time: exposed part of the exchange"},
    {Time::control, "time_control", "part of step_time: measuring for a controller of the graph"},
    {Time::profile, "time_profile", "profiling; not part of step_time"},
}};

/// Consecutive phases on a device's queue: what the queue ran, or waited for, between two
/// timestamps.
struct DevicePhases {
    struct Part {
        Time phase;
        std::shared_ptr<const arena::Timestamp> end;
    };
    std::shared_ptr<const arena::Timestamp> begin;
    std::vector<Part> parts;
};

/// Seconds of one rank, by phase. Times that a device measures are added when they are settled.
class Times {
public:
    double& operator[](Time time) { return seconds_[static_cast<size_t>(time)]; }
    double operator[](Time time) const { return seconds_[static_cast<size_t>(time)]; }
    /// Adds the given share of all times of `other`.
    void add(const Times& other, double share);
    /// Adds the phases that a device measures, as soon as `settle` is called.
    void add(std::shared_ptr<const DevicePhases> phases);
    /// Adds all pending device times. All their timestamps must have passed.
    void settle();

private:
    struct Pending {
        std::shared_ptr<const DevicePhases> phases;
        double share;
    };

    std::array<double, 9> seconds_{};
    std::vector<Pending> pending_;
};

/// Measures one iteration at a time, by the clock of the host or of the device that computes. Only
/// the main thread calls it.
class Timers {
public:
    /// `queue` is the step's queue.
    explicit Timers(arena::Queue& queue) : queue_(queue) {}

    /// Begins an iteration: all times are zero, the current phase is `rest`.
    void start();
    /// Ends the current phase.
    void stop() { enter(Time::rest); }
    /// Makes `phase` current and returns the phase that was current before.
    Time enter(Time phase);
    /// Does the same at the end of a scope. If the device has failed, the next call reports the
    /// error.
    void leave(Time phase) noexcept;

    /// Returns the seconds of a phase so far. Waits for the device.
    double seconds(Time phase) const;
    /// Returns all phases, and as `step` the whole iteration without profiling. Times of a device
    /// are added when the result is settled.
    Times all() const;

private:
    arena::Queue& queue_;
    Times spent_;                                  // Measured on the host.
    std::shared_ptr<DevicePhases> device_phases_;  // Measured on a device.
    Time current_ = Time::rest;
    double since_ = 0;
};

/// Makes `phase` current for the enclosing block.
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
