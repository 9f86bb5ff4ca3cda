#pragma once
// How bytes move between ranks. Two implementations: MPI, and the threads of one process.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::comm {

/// Traffic that must not be mistaken for other traffic; one communicator each.
enum class Channel : uint8_t { exchange, collective, failure };
inline constexpr int kChannels = 3;

/// `bytes` bytes for or from `rank`. Messages of one channel, sender, receiver and tag arrive in
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
    virtual ~Transfer() = default;
    /// Moves this rank's messages along, these and others; true when these have been sent and
    /// received. Never blocks.
    virtual bool test() = 0;
    /// The ranks whose messages have not come or who have not taken ours, sorted.
    virtual std::vector<int> owing() const = 0;
};

/// A text that nobody asked for.
struct Letter {
    int rank;
    std::string text;
};

/// All calls may come from any thread.
class Transport {
public:
    virtual ~Transport() = default;  ///< leaves the group, together with the others

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual int tags() const = 0;  ///< tags 0 .. tags() - 1 may be used; at least 32768

    /// Starts to send and to receive. Receives never wait for sends of the same call.
    virtual std::unique_ptr<Transfer> start(Channel channel, std::span<const Message> out,
                                            std::span<const Message> in) = 0;
    /// to = sum over ranks of `from`, in an order of the library's choosing; all ranks start their
    /// sums in the same order. `from` is not `to`: MPI would want that on all ranks or none.
    virtual std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                                int64_t count) = 0;
    /// Takes a message of the failure channel that has come, if any.
    virtual std::optional<Letter> letter() = 0;

    virtual void abandon() = 0;  ///< the destructor shall not wait for the others: they may be dead
    [[noreturn]] virtual void abort(int status) = 0;  ///< ends all ranks
};

}  // namespace dbench::comm
