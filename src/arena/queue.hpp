#pragma once
// Queues: what is launched on one runs in its order, beside the other queues. A kernel takes one;
// without a queue it has run when its call returns, which is how the host does it. An event orders
// launches of two queues. What a launch is given by address (rows, layout, coefficients, sums)
// stays as it is until the launch has run.

#include <cstdint>
#include <functional>
#include <string>
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
    std::vector<Access> accesses;  ///< all that it reads and writes, but for its own plan
    int64_t blocks;
    /// Runs one block, in any order of them, and the iterations of its loops in an order that
    /// `order` picks.
    std::function<void(int64_t block, uint64_t order)> run;
};

/// A point of a queue: all that was launched on it before.
struct Event {
    int queue;
    int64_t launches;
};

class Queue {
public:
    virtual ~Queue() = default;
    virtual void launch(Launch launch) = 0;
    virtual Event record() = 0;
    /// What is launched here from now on begins after the event.
    virtual void wait(Event event) = 0;
};

}  // namespace dbench::arena
