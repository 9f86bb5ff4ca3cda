#pragma once
// A deadline for calls that have none: those that start and end MPI wait for every rank. Internal
// to this room.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace dbench::comm {

/// While one lives, the watched calls together must return within `seconds`. If they do not, the
/// process says so, and which ranks have not come as far where that can be known (on this host),
/// and ends with status 1; the launcher then ends the others.
class CallWatch {
public:
    /// `what`: "the start"; `seconds`: as DBENCH_TIMEOUT says.
    CallWatch(std::string what, double seconds);
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;

    /// The call that comes next; they are numbered.
    void next(const char* call);

private:
    void watch();
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
