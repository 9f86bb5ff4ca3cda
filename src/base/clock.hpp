#pragma once
// A monotonic clock for durations, and the calendar time for provenance.

#include <string>

namespace dbench::base {

/// Returns seconds on a monotonic clock; only differences are meaningful.
double now();

/// Returns the current time as ISO 8601 in UTC, "2025-01-31T12:00:00Z".
std::string iso_time();

/// Measures the seconds since its construction.
class Stopwatch {
public:
    Stopwatch() : start_(now()) {}
    /// Starts with `seconds` already elapsed: a resumed run adds the time of its earlier segments,
    /// without the pauses between them.
    explicit Stopwatch(double seconds) : start_(now() - seconds) {}
    double seconds() const { return now() - start_; }

private:
    double start_;
};

/// Converts this process's times to the clock that all ranks of a run share: seconds since the
/// start of training on rank 0, without the pauses between restarts.
struct RunClock {
    double offset = 0;       ///< Rank 0's now() minus this process's, at the same moment.
    double uncertainty = 0;  ///< The largest error of `offset`.
    double zero = 0;         ///< Rank 0's now() at second 0.

    /// Converts a time of now().
    double at(double time) const { return time + offset - zero; }
};

}  // namespace dbench::base
