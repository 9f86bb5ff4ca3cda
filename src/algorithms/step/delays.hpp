#pragma once
// Stragglers on purpose: by how many seconds the spec's /delays hold up a replica's computation.

#include <cstdint>
#include <vector>

#include "base/section.hpp"

namespace dbench::algorithms {

enum class DelaySize : uint8_t { constant, exponential, uniform };

/// An entry of the spec's /delays: whom it holds up, how often and for how long.
struct DelayRule {
    std::vector<int64_t> replicas;  ///< empty: all
    double seconds;                 ///< mean of a delay
    DelaySize distribution;
    double probability;  ///< that there is one, of each replica and iteration for itself

    static const base::Section<DelayRule>& section();
};

/// Delays of replicas in iterations: functions of the seed, so the same on any ranks.
class Delays {
public:
    Delays() = default;  ///< none
    /// Throws UserError where a rule names a replica that is not among the n.
    Delays(std::vector<DelayRule> rules, int64_t replicas, uint64_t seed);

    bool any() const { return !rules_.empty(); }
    /// Seconds by which a replica is late in an iteration: the sum over the rules.
    double seconds(int64_t replica, int64_t iteration) const;
    /// Of replicas first .. first + count - 1 that compute one after another.
    double seconds(int64_t first, int64_t count, int64_t iteration) const;
    /// Mean of `seconds` over iterations.
    double expected(int64_t replica) const;

private:
    std::vector<DelayRule> rules_;  // replicas sorted
    uint64_t seed_ = 0;
};

}  // namespace dbench::algorithms
