#pragma once  // Private to comm/exchange.
// The exchange of opaque messages (messages that are not rows, such as compressed updates): each
// message is sent unchanged to the ranks that use it, and nothing is added on the way.

#include <memory>
#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/plans/delivery_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

/// One exchange of opaque messages in flight. The order of calls: begin; then either wait until it
/// is done (the engine advances it), or order_compute_after_transfer; then used_messages.
class DeliveryOperation : public OperationInFlight {
public:
    /// Row i of `messages` starts with the messages of local replica i, one after another, `bytes`
    /// bytes each. Launches on `queue` write and read them. If the host does, `queue` is the
    /// host's.
    DeliveryOperation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
                      std::shared_ptr<const DeliveryPlan> plan, arena::Rows messages, int64_t bytes,
                      arena::Queue& queue);

    /// Starts all messages; copies them first if the transport cannot read GPU memory.
    void begin(int tag);
    /// True if this rank sends or receives anything.
    bool moves() const { return transfer_ != nullptr; }
    /// True if queues order the messages: after the launches that are on `queue` at `begin`, and
    /// before the launches that follow order_compute_after_transfer. The host need not wait then.
    bool ordered() const { return !queue_.immediate() && transport_.queue(); }
    /// Orders later launches on `queue` after the messages.
    void order_compute_after_transfer() const;
    /// Returns the messages that each local replica uses. Requires that the operation is done, or
    /// ordered.
    std::vector<std::vector<UsedMessage>> used_messages() const;

protected:
    bool advance() override { return !transfer_ || transfer_->test(); }
    std::vector<int> awaited_ranks() const override;

private:
    /// Address of a local replica's message.
    char* message_address(int64_t row, int64_t slot) const {
        return messages_.at(row, 0) + slot * bytes_;
    }

    RowTransport& transport_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const DeliveryPlan> plan_;
    arena::Rows messages_;
    int64_t bytes_;
    arena::Queue& queue_;
    std::shared_ptr<char> staged_;    // copy of messages_ if the transport cannot read them
    std::shared_ptr<char> received_;  // received messages, one after another, in the plan's order
    std::unique_ptr<Transfer> transfer_;
    arena::Event moved_{};  // after the messages, on the transport's queue
};

}  // namespace dbench::comm
