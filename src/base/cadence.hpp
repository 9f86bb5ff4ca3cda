#pragma once
// How often an action (an evaluation, a checkpoint, a measurement) is done in a run. The interval
// may change between stages of the run.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/json.hpp"

namespace dbench::base {

/// A sequence of stages, each with an interval: iteration t is due if t mod `every` = 0 for the
/// `every` of its stage. Without stages, no iteration is due.
class Cadence {
public:
    struct Stage {
        /// First iteration of the next stage.
        int64_t until = std::numeric_limits<int64_t>::max();
        int64_t every = 0;  ///< Interval in iterations; 0: never.
    };

    Cadence() = default;
    explicit Cadence(int64_t every) : stages_{{.every = every}} {}
    explicit Cadence(std::vector<Stage> stages) : stages_(std::move(stages)) {}

    bool due(int64_t t) const;
    bool any_due() const;                     ///< True if some stage has an interval.
    int64_t count(int64_t iterations) const;  ///< Number of due iterations among 0 .. iterations-1.
    /// Mean number of iterations between two due ones in a run of `iterations`, at least 1;
    /// `iterations` itself if none is due.
    int64_t mean_interval(int64_t iterations) const;

private:
    std::vector<Stage> stages_;
};

/// A cadence as specs write it: one duration, or a list of stages of which all but the last have an
/// end.
struct Stages {
    struct Stage {
        /// Counted from the start of the run; empty: the end of the run.
        std::optional<Duration> until;
        std::optional<Duration> every;  ///< Empty: never.
    };
    std::vector<Stage> all;
};

/// Converts a value that Parameter::stages has checked.
Stages to_stages(const Json& spec);

/// Converts durations to iterations of the run `run`. Throws UserError, which names `pointer`, if a
/// stage does not end after the one before it.
Cadence to_cadence(const Stages& stages, const std::string& pointer, const RunLength& run);

}  // namespace dbench::base
