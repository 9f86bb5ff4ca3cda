#pragma once
// Measures how an iteration's time divides into phases. Exactly one phase is current at any moment.
// Scopes nest; the time of an inner scope does not count for the outer one.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "arena/device/queue.hpp"
#include "base/clock.hpp"
#include "base/run_position.hpp"
#include "base/trace.hpp"
#include "comm/world/wait_times.hpp"

namespace dbench::algorithms {

/// The times of a rank in an iteration: `step`, or a phase of it. `rest` is the time that belongs
/// to no other phase. Values from `delay` on are not phases but further times: `delay` (which the
/// spec's /delays add), `forward` and `backward` are parts of `gradient`, and `wait` and `mix` of
/// `exchange`; `progress` is the CPU time of the thread that moves messages; `start` is the time at
/// which the iteration began, on the run's clock.
enum class Time : uint8_t {
    step,
    data,
    gradient,
    update,
    exchange,
    control,
    profile,
    rest,
    delay,
    forward,
    backward,
    wait,
    mix,
    progress,
    start
};
inline constexpr size_t kTimes = 15;

/// Returns the phase's name for messages.
inline const char* phase_name(Time time) {
    constexpr const char* kNames[kTimes] = {
        "step",  "data",    "gradient", "update", "exchange", "control",  "profile", "rest",
        "delay", "forward", "backward", "wait",   "mix",      "progress", "start"};
    return kNames[static_cast<size_t>(time)];
}

/// A column [I, r] of the result file: seconds, one row per iteration and one value per rank. NaN
/// stands for a time that is not known.
struct TimeColumn {
    Time time;
    const char* name;
    const char* help;
};
inline constexpr std::array<TimeColumn, 14> kTimeColumns{{
    {Time::step, "step_time", "time of the iteration without profiling and evaluation"},
    {Time::data, "time_data", "part of step_time: waiting for data"},
    {Time::gradient, "time_gradient", "part of step_time: forward and backward"},
    {Time::delay, "time_delay", "part of time_gradient: delays by /delays of the spec"},
    {Time::update, "time_update", "part of step_time: optimizer"},
    {Time::exchange, "time_exchange", "part of step_time: exposed part of the exchange"},
    {Time::control, "time_control", "part of step_time: measuring for a controller of the graph"},
    {Time::profile, "time_profile", "profiling; not part of step_time"},
    {Time::start, "start_time",
     "start of the iteration since the start of training, on the clock of rank 0"},
    {Time::forward, "time_forward", "part of time_gradient: forward passes, and delays"},
    {Time::backward, "time_backward", "part of time_gradient: all that is not in time_forward"},
    {Time::wait, "time_wait",
     "part of time_exchange: waiting for other ranks, and moving messages meanwhile"},
    {Time::mix, "time_mix", "part of time_exchange: weighted sums and means"},
    {Time::progress, "time_progress",
     "CPU time of the thread that moves messages; not part of step_time"},
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
    /// Adds the phases that a device measures, as soon as `receive_device_values` is called.
    void add(std::shared_ptr<const DevicePhases> phases);
    /// Adds all pending device times. All their timestamps must have passed.
    void receive_device_values();
    /// Sets start, forward, backward, wait, mix and progress to NaN: the turns of an asynchronous
    /// algorithm do not divide into them.
    void set_details_unknown();

private:
    struct Pending {
        std::shared_ptr<const DevicePhases> phases;
        double share;
    };

    std::array<double, kTimes> seconds_{};
    std::vector<Pending> pending_;
};

/// Measures one iteration at a time, by the clock of the host or of the device that computes. Only
/// the main thread calls it.
class Timers {
public:
    /// `queue` is the step's queue. `counted` counts all waits of this thread, and the sums of
    /// exchanges; null: they are not known.
    explicit Timers(arena::Queue& queue, const comm::WaitTimes* counted = nullptr)
        : queue_(queue), counted_(counted) {}

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
    /// Returns the awaited rank (see comm::WaitTimes) of the iteration's last wait in an exchange
    /// phase; -1: there is none.
    int awaited_rank() const { return awaited_rank_; }

private:
    /// Adds the parts of an exchange that has been the current phase until now.
    void divide_exchange(Time before);

    arena::Queue& queue_;
    const comm::WaitTimes* counted_;
    comm::WaitTimes seen_;  // The part of *counted_ before the current phase.
    int awaited_rank_ = -1;
    Times spent_;                                  // Measured on the host.
    std::shared_ptr<DevicePhases> device_phases_;  // Measured on a device.
    Time current_ = Time::rest;
    double since_ = 0;
};

/// Returns the work that the trace shows for a phase; nothing for the passes (`gradient`), which
/// the trace divides itself.
std::optional<base::Work> traced_work(Time phase);

/// Makes `phase` current for the enclosing block, which the trace shows as a span.
class TimedScope {
public:
    /// `bucket`: for the trace; -1: the bucket on which this thread works.
    TimedScope(Timers& timers, Time phase, int64_t bucket = -1)
        : timers_(timers),
          before_(timers.enter(phase)),
          span_(traced_work(phase).value_or(base::Work::measure), -1, bucket,
                traced_work(phase).has_value()) {}
    ~TimedScope() { timers_.leave(before_); }
    TimedScope(const TimedScope&) = delete;
    TimedScope& operator=(const TimedScope&) = delete;

private:
    Timers& timers_;
    Time before_;
    base::TraceSpan span_;
};

}  // namespace dbench::algorithms
