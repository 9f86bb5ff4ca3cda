#pragma once
// The transport of rows: what training exchanges, few large messages, straight from and into the
// rows.

#include <cstdint>
#include <memory>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "comm/transport/transport.hpp"

namespace dbench::comm {

class RowTransport : public Transport {
public:
    /// to = sum over ranks of `from`, in an order of the library's choosing; all ranks start their
    /// sums in the same order. `from` is not `to`: MPI would want that on all ranks or none. Throws
    /// RunError as `start` does, and where there is no library that sums.
    virtual std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                                int64_t count) = 0;

    /// Null where messages travel beside one another, whoever starts first: MPI's, and those of
    /// threads. Else the transport moves what is started one after another and asks for one order:
    ///   - two ranks that both have a part in two starts make these in the same order, from one
    ///     thread each; both name the same bytes of a message;
    ///   - what has to be computed before a start is launched on this queue, and runs in between;
    ///   - a start of no messages has moved when all before it has.
    /// Exchanges do that (operation.hpp): in the order of their numbers, and each makes all its
    /// starts when it begins, in the order rows, scatter, gather.
    virtual arena::Queue* queue() { return nullptr; }

    /// Whether messages may lie where a device alone reaches them; sums of a library only where
    /// there is a queue.
    virtual bool reads_devices() { return queue() != nullptr; }
};

}  // namespace dbench::comm
