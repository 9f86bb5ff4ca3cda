#pragma once
// Ranks that are late on purpose. If other ranks wait for a late rank, the test ends with an error
// and does not hang.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace dbench::comm::tests {

/// Points of the program that ranks pass. Any thread may call it.
class Turns {
public:
    explicit Turns(int ranks) : passed_(static_cast<size_t>(ranks)) {}

    /// Marks that this rank has passed point k. Points are passed in order, from 0.
    void pass(int64_t k, int rank) { passed_[static_cast<size_t>(rank)] = k + 1; }

    /// Waits until all other ranks have passed point k. Returns false if they have not within 10 s.
    bool others_passed(int64_t k, int rank) const {
        const base::Stopwatch watch;
        for (size_t other = 0; other < passed_.size(); ++other) {
            while (static_cast<int>(other) != rank && passed_[other] <= k) {
                if (watch.seconds() > 10) return false;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        }
        return true;
    }

private:
    std::vector<std::atomic<int64_t>> passed_;
};

}  // namespace dbench::comm::tests
