#pragma once  // Private to comm/transport.
// A deadline for MPI calls that block until every rank makes them: those that start and end MPI.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dbench::comm {

/// While an object of this class exists, the watched calls together must return within `seconds`.
/// If they do not, the watch's thread reports this, names the ranks of this host that have not
/// reached the same call if it can find them out, and ends the process with status 1. The launcher
/// then ends the other ranks.
class CallWatch {
public:
    /// `what` names the calls in the error: "the start". `seconds`: the limit, timeout().
    CallWatch(std::string what, double seconds);
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;

    /// Names the next call. Calls are numbered from 1.
    void next(const char* call);

private:
    /// The body of the watch's thread.
    void watch();
    /// Reports the call that did not return, and ends the process.
    [[noreturn]] void give_up() const;

    const std::string what_;
    const double seconds_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    const char* call_ = "";
    int number_ = 0;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace dbench::comm
