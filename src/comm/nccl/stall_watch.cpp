#include "comm/nccl/stall_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace dbench::comm {

StallWatch::StallWatch(double seconds, std::function<void(const std::vector<int>&)> give_up)
    : seconds_(seconds), give_up_(std::move(give_up)), thread_([this] { watch(); }) {}

StallWatch::~StallWatch() { end(); }

void StallWatch::started(std::vector<int> ranks) {
    const std::lock_guard lock(mutex_);
    if (started_.empty()) since_ = base::now();
    started_.push_back(std::move(ranks));
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
    if (thread_.joinable()) thread_.join();
}

void StallWatch::watch() {
    constexpr double kLongest = 60;  // seconds between two polls, unless end() wakes the thread
    const std::chrono::duration<double> look(std::min(seconds_ / 16, kLongest));
    std::unique_lock lock(mutex_);
    while (!over_) {
        if (!started_.empty() && base::now() - since_ > seconds_) {
            const std::vector<int> ranks = started_.front();
            lock.unlock();
            return give_up_(ranks);
        }
        changed_.wait_for(lock, look);
    }
}

}  // namespace dbench::comm
