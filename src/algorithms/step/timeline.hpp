#pragma once
// Virtual time: in which order replicas finish that compute at their own pace.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "algorithms/asynchronous/asynchronous.hpp"
#include "algorithms/step/delays.hpp"

namespace dbench::algorithms {

/// How long gradients take, as functions of the seed: seconds (1 + jitter u), u uniform in [-1, 1),
/// and what the spec's /delays add.
class ComputeTimes {
public:
    explicit ComputeTimes(Pace pace = {}, uint64_t seed = 1, Delays delays = {});
    double seconds(const Turn& turn) const;

private:
    Pace pace_;
    uint64_t seed_;
    Delays delays_;
};

/// Iterations [begin, end) of replicas 0 .. n - 1, who all begin at time 0; none waits for another
/// before it has done with all of them.
class Timeline {
public:
    Timeline(const ComputeTimes& times, int64_t replicas, int64_t begin, int64_t end);

    /// The turns that end next, all at one time, by replica; empty when all have ended. Valid until
    /// the following call.
    const std::vector<Turn>& next();
    /// When these ended, in seconds.
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
