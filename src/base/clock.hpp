#pragma once
// Clocks: a monotonic one for durations, the calendar for provenance.

#include <string>

namespace dbench::base {

/// Seconds on a monotonic clock; only differences mean anything.
double now();

/// The present time as ISO 8601 in UTC, "2025-01-31T12:00:00Z".
std::string iso_time();

/// Adds the time from its construction (or the last `lap`) to accumulators.
class Stopwatch {
public:
    Stopwatch() : start_(now()) {}
    /// As if it had run so many seconds already: those of an earlier start, without the pause.
    explicit Stopwatch(double seconds) : start_(now() - seconds) {}
    /// Seconds since the last lap; starts the next one.
    double lap() {
        const double at = now();
        const double passed = at - start_;
        start_ = at;
        return passed;
    }
    double seconds() const { return now() - start_; }

private:
    double start_;
};

}  // namespace dbench::base
