#pragma once  // Private to comm/exchange.
// Messages that no caller finishes. Queues order the computation on received data after the
// messages; moments.cpp uses it.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

/// An operation that is done when its transfer is. The engine polls it, so that a failure is
/// noticed and errors can name the awaited ranks.
class TransferOperation : public OperationInFlight {
public:
    explicit TransferOperation(std::unique_ptr<Transfer> transfer)
        : transfer_(std::move(transfer)) {}

protected:
    bool advance() override { return transfer_->test(); }
    std::vector<int> awaited_ranks() const override { return transfer_->awaited_ranks(); }

private:
    std::unique_ptr<Transfer> transfer_;
};

/// Starts messages on a transport that has a queue, ordered after the launches on that queue.
inline void start_on_queue(Engine& engine, RowTransport& transport, std::span<const Message> out,
                           std::span<const Message> in) {
    if (out.empty() && in.empty()) return;
    engine.start(std::make_shared<TransferOperation>(transport.start(out, in)),
                 FirstAdvance::engine);
}

}  // namespace dbench::comm
