#pragma once
// How bytes move between ranks.
//
// A run has two transports with separate traffic: the row transport (row_transport.hpp) carries
// rows, the control transport (control_transport.hpp) carries texts, failures and the end of the
// run. launcher.hpp makes both when the process starts and returns them in a Membership, which
// World takes over.
//
// Implementations: mpi_transports.hpp (MPI), local_transports.hpp (threads of one process, or a
// process alone), nccl/nccl_transport.hpp (rows between GPUs). renumbered.hpp wraps them under
// other rank numbers. call_watch.hpp and siblings.hpp report MPI calls that do not return.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dbench::comm {

/// `bytes` bytes to or from `rank`. Messages of one transport with the same sender, receiver and
/// tag arrive in the order in which they were started. Both sides name the same number of bytes; as
/// an exception, a receiver of at most 1 MiB may name more than arrives.
struct Message {
    int rank;
    int tag;
    void* data;
    int64_t bytes;
};

/// Messages in flight. Their memory must remain valid and unchanged until `test` has returned true.
/// One thread at a time may call it.
class Transfer {
public:
    /// May be called before the end only after a failure.
    virtual ~Transfer() = default;
    /// Moves this rank's messages along, including those of other transfers. Returns true if the
    /// messages of this transfer have been sent and received. Never blocks. Throws RunError if the
    /// transport has failed.
    virtual bool test() = 0;
    /// Returns the ranks that have not sent or not received their part, sorted; empty if the
    /// transport cannot know them.
    virtual std::vector<int> awaited_ranks() const = 0;
};

/// The interface of both transports. Any thread may call it. A message takes these steps:
///   1. start          on both sides, in any order; neither side waits for the other
///   2. test           again and again, until all messages have been sent and received
///   3. ~Transport     on all ranks together, unless `abandon` was called
class Transport {
public:
    virtual ~Transport() = default;  ///< Leaves the other ranks, together with them.

    virtual int tags() const = 0;  ///< Number of tags, at least 32768: tags 0 .. tags() - 1.

    /// Starts to send the messages `out` and to receive the messages `in`. Receives never wait for
    /// sends of the same call. Throws RunError if the transport has failed. A message from a dead
    /// rank never arrives, and no error is raised for it.
    virtual std::unique_ptr<Transfer> start(std::span<const Message> out,
                                            std::span<const Message> in) = 0;

    /// Tells the destructor not to wait for other ranks: they may be dead.
    virtual void abandon() = 0;
};

}  // namespace dbench::comm
