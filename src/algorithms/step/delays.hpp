#pragma once
// Artificial stragglers: computes by how many seconds the spec's /delays prolong a replica's
// computation in an iteration. The training loop sleeps for that time.

#include <cstdint>
#include <vector>

#include "base/section.hpp"

namespace dbench::algorithms {

/// Distribution of a delay's length; see `distribution` in the spec.
enum class DelaySize : uint8_t { constant, exponential, uniform };

/// One entry of the spec's /delays: the replicas that it delays, how often and for how long.
struct DelayRule {
    std::vector<int64_t> replicas;  ///< Empty: all replicas.
    double seconds;                 ///< Mean length of a delay.
    DelaySize distribution;
    /// Probability of a delay, drawn independently for each replica and iteration.
    double probability;

    static const base::Section<DelayRule>& section();
};

/// The delays of replicas in iterations. They are functions of the seed and thus the same for any
/// number of ranks.
class Delays {
public:
    Delays() = default;  ///< No delays.
    /// Throws UserError if a rule names a replica that is not among the `replicas` replicas.
    Delays(std::vector<DelayRule> rules, int64_t replicas, uint64_t seed);

    bool any() const { return !rules_.empty(); }
    /// Returns the seconds by which `replica` is delayed in `iteration`: the sum over the rules.
    double seconds(int64_t replica, int64_t iteration) const;
    /// Returns the sum for replicas first .. first + count - 1, which compute one after another.
    double seconds(int64_t first, int64_t count, int64_t iteration) const;
    /// Returns the mean of `seconds` over iterations.
    double expected(int64_t replica) const;

private:
    std::vector<DelayRule> rules_;  // The replicas of each rule are sorted.
    uint64_t seed_ = 0;
};

}  // namespace dbench::algorithms
