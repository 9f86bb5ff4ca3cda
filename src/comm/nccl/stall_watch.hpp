#pragma once  // Private to comm/nccl.
// Ends a process whose threads are blocked in calls that return only after other ranks have sent
// something. CUDA calls block in this way if a stream accepts no more launches; a deadline
// that is checked between calls is then never noticed.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dbench::comm {

/// Watches, on its own thread, work that moves in the order in which it was started. Any thread may
/// call it.
class StallWatch {
public:
    /// If work has been started and none has moved for `seconds`, calls `give_up` once, with the
    /// ranks that take part in the oldest work (empty: all ranks).
    StallWatch(double seconds, std::function<void(const std::vector<int>& ranks)> give_up);
    /// Calls `end`.
    ~StallWatch();
    StallWatch(const StallWatch&) = delete;
    StallWatch& operator=(const StallWatch&) = delete;

    /// Adds work in which `ranks` take part.
    void started(std::vector<int> ranks);
    /// The oldest work has moved.
    void moved();
    /// Ends the watch because nothing moves any more and no thread waits. Its thread has ended on
    /// return, even if the owner of this object is kept until the process ends.
    void end();

private:
    /// The body of the watch's thread.
    void watch();

    const double seconds_;
    const std::function<void(const std::vector<int>&)> give_up_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::vector<int>> started_;
    double since_ = 0;  // start of the wait for the oldest work
    bool over_ = false;
    std::thread thread_;
};

}  // namespace dbench::comm
