#pragma once
// An end for a process whose threads are held in calls that return only after other ranks have sent
// something, as CUDA's do where a stream has no room for more launches: a deadline that is looked
// at between calls is then never seen. Internal to this room.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dbench::comm {

/// Looks, from a thread of its own, after what moves in the order in which it was started.
class StallWatch {
public:
    /// Where something has been started and for `seconds` nothing has moved, `give_up` is called
    /// with the ranks that have a part in the first of it (none: all ranks), once.
    StallWatch(double seconds, std::function<void(const std::vector<int>& ranks)> give_up);
    ~StallWatch();  ///< ends
    StallWatch(const StallWatch&) = delete;
    StallWatch& operator=(const StallWatch&) = delete;

    void started(std::vector<int> ranks);
    void moved();  ///< the first of what has been started
    /// Nothing moves any more, and nobody waits for it: its thread has gone then, also where what
    /// holds this stays for good.
    void end();

private:
    void watch();

    const double seconds_;
    const std::function<void(const std::vector<int>&)> give_up_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::vector<int>> started_;
    double since_ = 0;  // the first of these is waited for
    bool over_ = false;
    std::thread thread_;
};

}  // namespace dbench::comm
