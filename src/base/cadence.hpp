#pragma once
// How often something is done in a run, possibly less and less often.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/json.hpp"

namespace dbench::base {

/// Stages of a run, each with an interval: iteration t is due where t mod `every` = 0 for the
/// `every` of its stage. Without stages nothing is ever due.
class Cadence {
public:
    struct Stage {
        int64_t until = std::numeric_limits<int64_t>::max();  ///< first iteration of the next stage
        int64_t every = 0;                                    ///< iterations; 0: never
    };

    Cadence() = default;
    explicit Cadence(int64_t every) : stages_{{.every = every}} {}
    explicit Cadence(std::vector<Stage> stages) : stages_(std::move(stages)) {}

    bool due(int64_t t) const;
    bool ever() const;                        ///< in some stage
    int64_t count(int64_t iterations) const;  ///< due ones among 0 .. iterations-1
    /// Mean iterations between due ones in a run of so many, at least 1; that run's length where
    /// none is due.
    int64_t mean_interval(int64_t iterations) const;

private:
    std::vector<Stage> stages_;
};

/// A cadence as specs give it: a duration, or stages of which each but the last ends.
struct Stages {
    struct Stage {
        std::optional<Duration> until;  ///< from the start of the run; nothing: its end
        std::optional<Duration> every;  ///< nothing: never
    };
    std::vector<Stage> all;
};

/// Of a checked value (`Parameter::stages`).
Stages to_stages(const Json& spec);

/// In iterations of this run. Throws UserError naming `pointer` where the stages do not follow each
/// other.
Cadence to_cadence(const Stages& stages, const std::string& pointer, const RunLength& run);

}  // namespace dbench::base
