#pragma once
// The row transport carries the data of training: few large messages, sent from the rows and
// received into rows without copies.

#include <cstdint>
#include <memory>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"
#include "comm/transport/transport.hpp"

namespace dbench::comm {

/// A transport for rows, with sums and with an optional queue.
class RowTransport : public Transport {
public:
    /// Starts to = sum over ranks of `from`, added in an order that the library chooses. All ranks
    /// start their sums in the same order. `from` and `to` must differ: MPI_IN_PLACE would have to
    /// be used by all ranks or by none. Throws RunError as `start` does, and if the transport has
    /// no library that sums.
    virtual std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                                int64_t count) = 0;

    /// Returns null if messages move independently of each other, whichever is started first; this
    /// is true of MPI and of threads. Otherwise (NCCL) the transport moves messages strictly in the
    /// order in which they were started, on the returned queue, and requires:
    ///   - Two ranks that both take part in two starts make these starts in the same order, each
    ///     from one thread. Both name the same number of bytes per message.
    ///   - Computation that a message depends on is launched on this queue before the start.
    ///   - A start without messages has moved when all earlier starts have.
    /// Exchanges keep this order: they start in the order of their numbers, and each makes all its
    /// starts in `begin`, in the order rows, scatter, gather (mixing/mixing_route.hpp).
    virtual arena::Queue* queue() { return nullptr; }

    /// True if messages may be stored in memory that only a device can reach. Sums of the library
    /// may be stored there only if there is a queue.
    virtual bool reads_devices() { return queue() != nullptr; }
};

}  // namespace dbench::comm
