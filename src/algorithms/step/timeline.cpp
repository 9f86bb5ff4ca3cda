#include "algorithms/step/timeline.hpp"

#include "base/random.hpp"

namespace dbench::algorithms {

ComputeTimes::ComputeTimes(Pace pace, uint64_t seed, Delays delays)
    : pace_(pace), seed_(seed), delays_(std::move(delays)) {}

double ComputeTimes::seconds(const Turn& turn) const {
    base::Random random(
        seed_, base::Purpose::compute_time,
        {static_cast<uint64_t>(turn.replica), static_cast<uint64_t>(turn.iteration)});
    return pace_.seconds * (1 + pace_.jitter * (2 * random.uniform() - 1)) +
           delays_.seconds(turn.replica, turn.iteration);
}

Timeline::Timeline(const ComputeTimes& times, int64_t replicas, int64_t begin, int64_t end)
    : times_(times), end_(end) {
    for (int64_t i = 0; i < replicas && begin < end; ++i) this->begin({i, begin});
}

void Timeline::begin(Turn turn) { endings_.push({now_ + times_.seconds(turn), turn}); }

const std::vector<Turn>& Timeline::next() {
    for (const Turn& turn : group_) {
        if (turn.iteration + 1 < end_) begin({turn.replica, turn.iteration + 1});
    }
    group_.clear();
    if (!endings_.empty()) now_ = endings_.top().time;
    while (!endings_.empty() && endings_.top().time == now_) {
        group_.push_back(endings_.top().turn);
        endings_.pop();
    }
    return group_;
}

}  // namespace dbench::algorithms
