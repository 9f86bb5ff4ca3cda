#pragma once
// Watches training losses for values that are not finite.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dbench::profile {

/// The replicas whose losses were not finite since the start of the program. Each is reported once.
class NonfiniteLosses {
public:
    explicit NonfiniteLosses(int64_t replicas) : seen_(static_cast<size_t>(replicas)) {}

    /// Adds the losses of replicas first, first + 1, ... in an iteration. Iterations may be added
    /// in any order.
    void add(int64_t iteration, int64_t first, std::span<const double> loss);
    /// Returns whether there are replicas that `report` has not reported.
    bool pending() const { return new_ > 0; }
    /// Returns the earliest iteration of those replicas. Requires `pending`.
    int64_t iteration() const { return iteration_; }
    /// Returns a sentence about those replicas, which counts as reporting them. Requires `pending`.
    std::string report();

private:
    std::vector<bool> seen_;                          // [replicas]
    int64_t new_ = 0, earliest_ = 0, iteration_ = 0;  // Replicas that are not reported.
};

}  // namespace dbench::profile
