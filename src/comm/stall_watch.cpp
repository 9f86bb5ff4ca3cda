#include "comm/stall_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace dbench::comm {

StallWatch::StallWatch(double seconds, std::function<void(const std::vector<int>&)> give_up)
    : seconds_(seconds), give_up_(std::move(give_up)), thread_([this] { watch(); }) {}

StallWatch::~StallWatch() {
    end();
    thread_.join();
}

void StallWatch::started(std::vector<int> ranks) {
    {
        const std::lock_guard lock(mutex_);
        started_.push_back(std::move(ranks));
        if (started_.size() > 1) return;
        since_ = base::now();
    }
    changed_.notify_all();
}

void StallWatch::moved() {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    DBENCH_EXPECT(!started_.empty());
    started_.pop_front();
    since_ = base::now();
}

void StallWatch::end() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
}

void StallWatch::watch() {
    constexpr double kLongest = 1e6;  // seconds of a sleep
    std::unique_lock lock(mutex_);
    while (!over_) {
        if (started_.empty()) {
            changed_.wait(lock);
            continue;
        }
        const double left = since_ + seconds_ - base::now();
        if (left > 0) {
            // What moves meanwhile is seen then: nobody has to wake this thread for it.
            changed_.wait_for(lock, std::chrono::duration<double>(std::min(left, kLongest)));
            continue;
        }
        const std::vector<int> ranks = started_.front();
        lock.unlock();
        return give_up_(ranks);
    }
}

}  // namespace dbench::comm
