#pragma once
// The engine: polls the operations in flight so that exchanges progress while the program computes.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "arena/device/queue.hpp"
#include "comm/world/exchange_trace.hpp"

namespace dbench::comm {

/// An operation in flight: a state machine that the engine advances. Its kinds are MixingOperation
/// (folder mixing), DeliveryOperation and TransferOperation (folder exchange), Collective (this
/// folder) and Service (folder peers). A Token is a shared pointer to one. Any thread may advance
/// it, one thread at a time.
class OperationInFlight {
public:
    virtual ~OperationInFlight() = default;
    /// True if the operation has finished or failed.
    bool done() const { return done_.load(std::memory_order_acquire); }

    /// Set before the start if the trace shows this operation; else null.
    std::unique_ptr<const ExchangeTrace> trace;

protected:
    friend class Engine;
    /// Takes as many steps as possible without waiting. Returns true if none are left.
    virtual bool advance() = 0;
    /// Returns the ranks that the next step depends on.
    virtual std::vector<int> awaited_ranks() const = 0;

private:
    std::mutex mutex_;  // held while a thread advances the operation
    std::atomic<bool> done_ = false;
    std::exception_ptr error_;
};

/// The thread that first advances an operation that is started: `caller`, within `start`, so that
/// its first messages leave at once; or `engine`, so that the caller goes on.
enum class FirstAdvance : uint8_t { caller, engine };

/// Polls the operations in its list on the progress thread, which sleeps while there are none, and
/// on every thread that waits for an operation. Polling is necessary because MPI moves large
/// messages only inside MPI calls: without calls between start and finish, no communication
/// overlaps with computation.
class Engine {
public:
    /// Starts the progress thread if `with_thread`; else operations move only while a thread waits
    /// for them (enough for a single process). The rank computes on `queue`, which must remain
    /// valid until the next compute_on or the engine's destruction. The progress thread selects the
    /// queue's device, because CUDA-aware MPI queries the current device.
    Engine(bool with_thread, arena::Queue& queue);
    ~Engine();  ///< Calls `halt`.

    /// Sets the queue on which the rank computes.
    void compute_on(arena::Queue& queue);
    /// Adds an operation to the list. An operation that fails is kept until the process ends,
    /// because a transport may still write into its memory.
    void start(std::shared_ptr<OperationInFlight> operation, FirstAdvance first);
    /// Keeps an operation that failed before `start` until the process ends, because a queue or a
    /// transport may still use its memory.
    static void keep_until_exit(std::shared_ptr<OperationInFlight> failed);
    /// Stops advancing operations, after a failure: their rows may then be freed. Keeps the
    /// operations' own memory until the process ends, because a transport may still write into it.
    void halt();
    /// True if the caller is the progress thread.
    bool on_progress_thread() const { return std::this_thread::get_id() == thread_.get_id(); }
    /// Throws RunError after `halt`. A step that waits on the progress thread calls it, so that
    /// `halt` need not wait for the step's deadline.
    void check_halted();
    /// Returns the operations in the list.
    std::vector<std::shared_ptr<OperationInFlight>> in_flight();
    /// Advances all operations; returns true if `operation`, in the list or not, is done. Rethrows
    /// the exception of its steps.
    bool test(OperationInFlight& operation);
    /// Returns the ranks that `operation` depends on.
    std::vector<int> awaited_ranks(OperationInFlight& operation);
    /// Rethrows the first exception that any operation has thrown. Code that waits for queues, and
    /// not for a certain operation, calls it.
    void rethrow_failure();
    /// Returns the ranks that any operation in the list depends on, sorted.
    std::vector<int> awaited_ranks();
    /// Returns the CPU time of the progress thread so far; 0 if there is none.
    double thread_seconds();

    /// While an object of this class exists, the progress thread leaves all work to the waiting
    /// thread.
    class Waiting {
    public:
        explicit Waiting(Engine& engine);
        ~Waiting();

    private:
        Engine& engine_;
    };

private:
    /// Advances the operation unless another thread does; true if this call finished it.
    bool step(OperationInFlight& operation);
    /// Advances all operations in the list, and removes those that are done; true if this call
    /// finished any.
    bool step_all();
    /// The body of the progress thread.
    void run();
    /// Selects the queue's device on the progress thread.
    void select_device();

    std::mutex mutex_;  // protects the list and the flags; never held during a step
    std::condition_variable changed_;
    std::vector<std::shared_ptr<OperationInFlight>> operations_;
    std::exception_ptr error_;  // the first of all operations
    int waiting_ = 0;
    arena::Queue* queue_;           // never null
    bool device_selected_ = false;  // true if the progress thread has selected the device
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace dbench::comm
