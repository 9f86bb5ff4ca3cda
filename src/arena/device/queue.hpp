#pragma once
// Queues. The launches on one queue run in order, concurrently with those of other queues. Every
// kernel function accepts a queue. On the immediate queue (`host_queue`) a kernel runs on the host
// and has finished when the call returns. An event orders launches of two queues, or lets the host
// wait for launches. A launch sees everything that the host wrote before the launch. Rows and
// arrays that a launch receives by address must remain valid until it has run.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Bytes of a number in the sums and factors that kernels keep, which are float64.
inline constexpr int64_t kDoubleBytes = sizeof(double);

/// Memory that a launch reads or writes: `rows` pieces of `bytes` bytes, `stride` bytes apart.
struct Access {
    const void* data;
    int64_t rows, stride, bytes;
    bool writes;
};
/// Describes an access to columns of rows, or to a flat array.
Access reads(Rows rows, Columns columns);
Access writes(Rows rows, Columns columns);
Access reads(const void* data, int64_t bytes);
Access writes(const void* data, int64_t bytes);
/// Returns true if the accesses have a byte in common.
bool overlap(const Access& a, const Access& b);

/// A kernel with its arguments.
struct Launch {
    std::string name;
    std::vector<Access> accesses;  ///< All memory that the kernel reads and writes, except
                                   ///< read-only copies (Queue::device_copy).
    int64_t blocks;
    /// Emulation: runs one block. Blocks may run in any order; `order` selects the order of the
    /// iterations of the block's loops.
    std::function<void(int64_t block, uint64_t order)> run = nullptr;
    /// CUDA: enqueues the whole kernel on a cudaStream_t. Called at most once, before Queue::launch
    /// returns. Null in builds without CUDA.
    std::function<void(void* stream)> enqueue = nullptr;
};

/// A point in a queue: everything that was launched on the queue before.
struct Event {
    int queue;
    int64_t launches;
};

/// The time at which a queue had run everything that was launched on it before.
class Timestamp {
public:
    virtual ~Timestamp() = default;
    /// Seconds between `other` and this timestamp, both of the same device. Precondition: an event
    /// that was recorded after both has passed.
    virtual double since(const Timestamp& other) const = 0;
};

/// A function that the host waits with: returns when `done`, which never blocks, returns true.
/// Throws if `done` does not become true in time, or can no longer become true.
using HostWait = std::function<void(const std::string& what, const std::function<bool()>& done)>;

/// The interface of a queue. Any thread may call its functions. `why` names the reason of a wait in
/// errors and traces.
class Queue {
public:
    /// The kinds of queues. `deferred`: launches may run after the call has returned. `immediate`:
    /// a launch runs on the host and has finished when the call returns.
    enum class Kind : uint8_t { deferred, immediate };

    /// `memories` is the memory of the queue's device.
    explicit Queue(Memories memories = {}, Kind kind = Kind::deferred)
        : memories_(std::move(memories)), immediate_(kind == Kind::immediate) {}
    virtual ~Queue() = default;
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// True if launches have finished when the call returns: nothing needs to wait for them, and
    /// memory need not be kept for them. Not virtual, because every kernel call tests it.
    bool immediate() const { return immediate_; }
    /// The memory of the queue's device, for everything that launches on the queue access.
    const Memories& memories() const { return memories_; }
    /// True if the queue runs launches by `run` and checks their accesses; false if it uses
    /// `enqueue`.
    virtual bool emulated() const { return true; }
    /// Makes the queue's device the current device of the calling thread, for libraries that use
    /// the current device.
    virtual void make_current() {}
    /// Sets the function that `finish` waits with.
    virtual void set_host_wait(HostWait) {}
    virtual void launch(Launch launch) = 0;
    /// Returns the event after everything that was launched so far.
    virtual Event record() = 0;
    /// Returns the timestamp at which everything launched so far on this queue has run, measured by
    /// the device's clock if it has one.
    virtual std::shared_ptr<const Timestamp> timestamp();
    /// Orders all later launches on this queue after the event.
    virtual void wait(Event event, const char* why) = 0;
    /// Waits on the host for an event of this queue or of another queue of the same device.
    virtual void finish(Event event, const char* why) = 0;
    /// Keeps memory alive until everything that was launched so far on this queue has run.
    virtual void keep(std::shared_ptr<const void> memory) = 0;
    /// Returns the address at which launches on all queues of the device can read the `bytes` bytes
    /// at `data`, which must not be modified any more. This is a copy, made at the first call. It
    /// remains valid while another object holds `owner`, and until the launches so far have run.
    /// The caller must therefore hold `owner` until all launches that read the copy have been
    /// launched.
    virtual const void* device_copy(const std::shared_ptr<const void>& owner, const void* data,
                                    int64_t bytes) = 0;

private:
    const Memories memories_;
    const bool immediate_;
};

/// Returns the host's immediate queue. It has no state: any number of threads may launch on it at
/// the same time.
Queue& host_queue();

/// Orders all later launches on `later` after everything that was launched on `earlier` so far.
/// Does nothing if one of them is immediate.
inline void order(Queue& earlier, Queue& later, const char* why) {
    if (!earlier.immediate() && !later.immediate()) later.wait(earlier.record(), why);
}
/// Waits on the host for everything that was launched on the queue so far; then the host may access
/// the same memory.
inline void finish(Queue& queue, const char* why) {
    if (!queue.immediate()) queue.finish(queue.record(), why);
}
/// Keeps memory alive until everything that was launched so far on the queue has run.
inline void keep(Queue& queue, std::shared_ptr<const void> memory) {
    if (!queue.immediate()) queue.keep(std::move(memory));
}

}  // namespace dbench::arena
