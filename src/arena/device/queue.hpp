#pragma once
// Queues: what is launched on one runs in its order, beside the other queues. A kernel takes one;
// without a queue it has run when its call returns, which is how the host does it. An event orders
// launches of two queues, or the host after them; what the host does before a launch, that launch
// finds done. Rows and sums that a launch is given by address stay where they are until it has run.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::arena {

/// Memory that a launch reads or writes: `rows` pieces of `bytes`, `stride` bytes apart.
struct Access {
    const void* data;
    int64_t rows, stride, bytes;
    bool writes;
};
/// The columns of rows, and a flat array.
Access reads(Rows rows, Columns columns);
Access writes(Rows rows, Columns columns);
Access reads(const void* data, int64_t bytes);
Access writes(const void* data, int64_t bytes);
/// Whether they have a byte in common.
bool overlap(const Access& a, const Access& b);

/// A kernel with its arguments.
struct Launch {
    std::string name;
    std::vector<Access> accesses;  ///< all that it reads and writes, but for what was placed
    int64_t blocks;
    /// Emulation: runs one block, in any order of them, and the iterations of its loops in an order
    /// that `order` picks.
    std::function<void(int64_t block, uint64_t order)> run = nullptr;
    /// CUDA: puts it all on a cudaStream_t; called, if at all, before Queue::launch returns. In
    /// builds without CUDA kernels have none.
    std::function<void(void* stream)> enqueue = nullptr;
};

/// A point of a queue: all that was launched on it before.
struct Event {
    int queue;
    int64_t launches;
};

/// When a queue had run all that was launched on it before.
class Moment {
public:
    virtual ~Moment() = default;
    /// Seconds since another one of the same device. Both have passed: an event that was recorded
    /// after them has.
    virtual double since(const Moment& other) const = 0;
};

/// How the host waits: returns when `done`, which never blocks, says so; throws where that takes
/// too long or is in vain.
using Patience = std::function<void(const std::string& what, const std::function<bool()>& done)>;

/// All calls may come from any thread. `why` names what a wait is for, in errors and traces.
class Queue {
public:
    virtual ~Queue() = default;
    /// Whether launches run by `run`, and what they touch is looked at; else by `enqueue`.
    virtual bool emulated() const { return true; }
    /// Its device is this thread's from now on, for libraries that go by that.
    virtual void enter() {}
    /// How `finish` waits from now on, if it has to.
    virtual void wait_by(Patience) {}
    virtual void launch(Launch launch) = 0;
    virtual Event record() = 0;
    /// The one at which all that was launched here has run: by the device's clock, where it has
    /// one.
    virtual std::shared_ptr<const Moment> moment();
    /// What is launched here from now on begins after the event.
    virtual void wait(Event event, const char* why) = 0;
    /// The host waits for an event, of this queue or of another one of its device.
    virtual void finish(Event event, const char* why) = 0;
    /// Keeps memory until all that was launched here before has run.
    virtual void keep(std::shared_ptr<const void> memory) = 0;
    /// Where launches, on all queues of the device, read the `bytes` bytes at `data`, which nobody
    /// writes any more: a copy, made at the first call and kept while others hold `owner`, and
    /// until the launches so far have run. So `owner` has to be held until what reads it has been
    /// launched.
    virtual const void* place(const std::shared_ptr<const void>& owner, const void* data,
                              int64_t bytes) = 0;
};

/// The queues of a rank; null where the host does at once what would be launched there.
struct Queues {
    Queue* compute = nullptr;   ///< of the step: updates, averagings, norms
    Queue* exchange = nullptr;  ///< of what is made for messages, beside the step
};

/// What is launched on `later` from now on begins after all that is on `earlier` by now.
inline void order(Queue* earlier, Queue* later, const char* why) {
    if (earlier && later) later->wait(earlier->record(), why);
}
/// The host waits for all that is on the queue by now; then it may touch what that touches.
inline void finish(Queue* queue, const char* why) {
    if (queue) queue->finish(queue->record(), why);
}
inline void keep(Queue* queue, std::shared_ptr<const void> memory) {
    if (queue) queue->keep(std::move(memory));
}

}  // namespace dbench::arena
