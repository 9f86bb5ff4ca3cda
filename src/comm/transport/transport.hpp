#pragma once
// How bytes move between ranks. There are two transports, each with traffic of its own that is
// never mistaken for the other's: rows (row_plane.hpp) and control (control_plane.hpp). Whoever
// starts the process makes both (launcher.hpp) and gives them to World; MPI makes them, and the
// threads of one process.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dbench::comm {

/// `bytes` bytes for or from `rank`. Messages of one transport, sender, receiver and tag arrive in
/// the order in which they were started; both sides name the same number of bytes (a receiver that
/// expects at most 1 MiB may name more).
struct Message {
    int rank;
    int tag;
    void* data;
    int64_t bytes;
};

/// Messages on their way; their memory must stay until `test` has said true. One thread at a time.
class Transfer {
public:
    virtual ~Transfer() = default;  ///< after a failure also before the end
    /// Moves this rank's messages along, these and others; true when these have been sent and
    /// received. Never blocks. Throws RunError where the transport has failed.
    virtual bool test() = 0;
    /// The ranks whose messages have not come or who have not taken ours, sorted; none where that
    /// cannot be known.
    virtual std::vector<int> owing() const = 0;
};

/// What both transports can do. All calls may come from any thread. In steps:
///   1. start    on both sides, in any order; neither waits for the other
///   2. test     again and again, until all has come and gone
///   3. ~Transport   on all ranks together, unless they have been abandoned
class Transport {
public:
    virtual ~Transport() = default;  ///< leaves the others, together with them

    virtual int tags() const = 0;  ///< tags 0 .. tags() - 1 may be used; at least 32768

    /// Starts to send and to receive. Receives never wait for sends of the same call. Throws
    /// RunError where the transport has failed; what a rank that is gone owes just never comes.
    virtual std::unique_ptr<Transfer> start(std::span<const Message> out,
                                            std::span<const Message> in) = 0;

    virtual void abandon() = 0;  ///< the destructor shall not wait for the others: they may be dead
};

}  // namespace dbench::comm
