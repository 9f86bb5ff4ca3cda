#pragma once
// Rows in the host's hands, wherever they lie.

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Rows that the host reads or changes: themselves where it reaches them, else a copy in memory
/// that both reach, which the queue makes and takes back.
class HostRows {
public:
    enum class State : uint8_t {
        computed,  ///< by what is on the queue: the host waits for that
        settled,   ///< nothing that is on the queue touches them
        replaced,  ///< the same, and all of them are to be written: what is in them may be lost
    };

    /// Waits as `why` says, for a copy where it has not to wait for more. `queue` may be null where
    /// the host reaches the rows. Throws as Queue::finish does.
    HostRows(Rows rows, Queue* queue, const char* why, State state = State::computed);

    Rows rows() const { return copy_.bytes() > 0 ? copy_.rows() : rows_; }
    /// Launches what takes back what the host has changed, if it is a copy; ends its use. With
    /// `why` the host waits for that: the next copy has the same memory then, which is pinned, and
    /// kept.
    void put_back(const char* why = nullptr);

private:
    Rows rows_;
    Queue* queue_;
    Buffer copy_;
};

/// The row, which nothing that is on the queue touches, begins with the `bytes` bytes at `from` for
/// whatever is launched from now on. `from` may go when this returns.
void fill(Rows row, const void* from, int64_t bytes, Queue* queue);

}  // namespace dbench::arena
