#pragma once
// Host access to rows in any memory space.

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Rows that the host reads or changes. If the rows are in host-visible memory, this is a view of
/// them. Otherwise it is a copy in memory that both the host and the device can access: the queue
/// makes the copy and writes it back.
class HostRows {
public:
    enum class State : uint8_t {
        computed,  ///< Launches in the queue compute the rows: the host waits for them.
        settled,   ///< No launch in the queue accesses the rows.
        replaced,  ///< No launch in the queue accesses the rows, and the host will write all of
                   ///< them: the old contents may be lost.
    };

    /// Waits for the launches, or for the copy, if `state` requires it; `why` names the wait in
    /// errors and traces. `queue` is a queue of the device whose memory the rows are in. Throws as
    /// Queue::finish does.
    HostRows(Rows rows, Queue& queue, const char* why, State state = State::computed);

    /// The rows, or their copy.
    Rows rows() const { return copy_.bytes() > 0 ? copy_.rows() : rows_; }
    /// Launches the write-back if this holds a copy, and ends the use of this object. If `why` is
    /// given, the host waits for the write-back. The next copy can then reuse the memory, which is
    /// pinned and cached.
    void write_back(const char* why = nullptr);

private:
    Rows rows_;
    Queue& queue_;
    Buffer copy_;
};

/// Copies `bytes` bytes from host memory at `from` to the start of `row`, for all later launches.
/// No launch in the queue may access the row. `from` may be freed when the function returns.
void fill(Rows row, const void* from, int64_t bytes, Queue& queue);

}  // namespace dbench::arena
