#pragma once
// Virtual time: the order in which replicas finish that compute at different speeds.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "algorithms/asynchronous/asynchronous.hpp"
#include "algorithms/step/delays.hpp"

namespace dbench::algorithms {

/// The durations of gradients, as functions of the seed: seconds (1 + jitter u) with u uniform in
/// [-1, 1), plus the spec's /delays.
class ComputeTimes {
public:
    explicit ComputeTimes(Pace pace = {}, uint64_t seed = 1, Delays delays = {});
    /// Returns the seconds that the gradient of `turn` takes.
    double seconds(const Turn& turn) const;

private:
    Pace pace_;
    uint64_t seed_;
    Delays delays_;
};

/// Simulates iterations [begin, end) of replicas 0 .. n - 1. All begin at time 0; each replica
/// begins its next iteration as soon as it has finished the one before, without waiting for others.
class Timeline {
public:
    Timeline(const ComputeTimes& times, int64_t replicas, int64_t begin, int64_t end);

    /// Returns the turns that end next, all at the same time, ordered by replica; empty after the
    /// last one. Valid until the following call.
    const std::vector<Turn>& next();
    /// Returns the time at which these turns ended, in seconds.
    double now() const { return now_; }

private:
    struct Ending {
        double time;
        Turn turn;
        bool operator>(const Ending& other) const {
            return time != other.time ? time > other.time : turn.replica > other.turn.replica;
        }
    };

    void begin(Turn turn);

    ComputeTimes times_;
    int64_t end_;
    double now_ = 0;
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
    std::vector<Turn> group_;
};

}  // namespace dbench::algorithms
