#pragma once
// How often something is done in a run, possibly less and less often.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

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

/// Of a duration, or of a list of stages (`Parameter::stages`), where an epoch has `per_epoch`
/// iterations and an iteration `samples` samples over all replicas. Throws UserError naming
/// `pointer` where the stages do not follow each other.
Cadence to_cadence(const Json& spec, const std::string& pointer, int64_t per_epoch,
                   int64_t samples);

}  // namespace dbench::base
