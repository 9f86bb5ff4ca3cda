#pragma once
// Runs a process that writes a run, for tests that watch it or kill it.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "profile/synthetic_run.hpp"

namespace dbench::profile::tests {

inline void sleep_for(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Runs `work` in a child process. The exit status is its result, or 99 after an exception.
class Process {
public:
    explicit Process(const std::function<int()>& work) : id_(fork()) {
        if (id_ != 0) return;
        int status = 99;
        try {
            status = work();
        } catch (...) {
        }
        _exit(status);
    }
    ~Process() {
        if (id_ > 0) kill_now();
    }
    Process(const Process&) = delete;

    /// Returns the exit status, or minus the number of the signal that ended the process.
    int wait() {
        int status = 0;
        waitpid(id_, &status, 0);
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    void kill_now() {
        kill(id_, SIGKILL);
        wait();
    }

private:
    pid_t id_;
};

/// A number that a process shares with its children.
class SharedNumber {
public:
    SharedNumber()
        : at_(static_cast<volatile int64_t*>(mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    ~SharedNumber() { munmap(const_cast<int64_t*>(at_), sizeof(int64_t)); }
    SharedNumber(const SharedNumber&) = delete;
    void set(int64_t value) { *at_ = value; }
    int64_t get() const { return *at_; }

private:
    volatile int64_t* at_;
};

/// Writes `run` in real time: each iteration takes run.step seconds, which is also the time that it
/// reports. `done` counts the iterations.
inline int write_slowly(const SyntheticRun& run, SharedNumber& done) {
    comm::World world{comm::alone()};
    Recorder recorder(world, {run.replicas, 1}, run.options());
    recorder.event(0, "graph", "matrix 0");
    recorder.evaluation(run.evaluation(0));
    for (int64_t t = 0; t < run.iterations; ++t) {
        sleep_for(run.step);
        recorder.iteration(run.record(t, 0, run.replicas, 0));
        done.set(t + 1);
    }
    recorder.finish("complete");
    return 0;
}

}  // namespace dbench::profile::tests
