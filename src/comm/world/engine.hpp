#pragma once
// Moves exchanges along while the program computes.

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "arena/device/queue.hpp"

namespace dbench::comm {

/// An operation in flight: a state machine that takes as many steps as it can whenever somebody
/// looks after it.
class Pending {
public:
    virtual ~Pending() = default;
    bool done() const { return done_.load(std::memory_order_acquire); }

protected:
    friend class Engine;
    /// Goes as far as is possible without waiting; true when there is nothing left to do.
    virtual bool advance() = 0;
    virtual std::vector<int> owing() const = 0;  ///< ranks that the next step waits for

private:
    std::mutex mutex_;  // one thread at a time advances it
    std::atomic<bool> done_ = false;
    std::exception_ptr error_;
};

/// Looks after the operations in flight: from a thread of its own, which sleeps while there are
/// none, and from those threads that wait for one. The thread polls because MPI moves large
/// messages only inside calls: between a start and a finish without calls nothing is hidden.
class Engine {
public:
    /// `queue`: where the rank computes, or null; it stays until the engine is told of another one
    /// or goes. The engine's thread takes its device for its own, as MPI may ask it which that is.
    /// Without a thread operations move only while somebody waits (a process alone needs none).
    explicit Engine(bool with_thread, arena::Queue* queue = nullptr);
    ~Engine();  ///< halts

    void compute_on(arena::Queue* queue);
    /// Takes an operation into care. `now`: the caller takes its first steps. One that fails stays
    /// for good: a transport may still write into its memory.
    void start(std::shared_ptr<Pending> operation, bool now);
    /// Takes no further step of what is still in flight (after a failure): rows may go away. Its
    /// own memory stays, as a transport may still write into it.
    void halt();
    std::vector<std::shared_ptr<Pending>> in_flight();
    /// Moves everything along; whether `operation`, in care or not, is done. Rethrows what its
    /// steps threw.
    bool test(Pending& operation);
    std::vector<int> owing(Pending& operation);
    /// For a wait that ends with all of them: rethrows what a step of any has thrown.
    void expect_well();
    std::vector<int> owing();  ///< ranks that any in care waits for, sorted

    /// While one lives, the engine's thread leaves the work to the thread that waits.
    class Waiting {
    public:
        explicit Waiting(Engine& engine);
        ~Waiting();

    private:
        Engine& engine_;
    };

private:
    bool step(Pending& operation);  // whether this call finished it
    bool step_all();                // whether this call finished any
    void run();
    void enter();

    std::mutex mutex_;  // of the list and the flags; never held during a step
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Pending>> operations_;
    std::exception_ptr error_;  // the first
    int waiting_ = 0;
    arena::Queue* queue_;
    bool entered_ = false;  // by the thread
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace dbench::comm
