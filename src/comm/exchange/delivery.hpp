#pragma once
// Messages that are no rows, such as compressed ones: each goes as it is to those who use it, and
// nothing is added on the way.

#include <memory>
#include <vector>

#include "comm/exchange/exchange.hpp"
#include "comm/plans/delivery_plan.hpp"
#include "comm/scratch.hpp"
#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

class Delivery : public Pending {
public:
    /// Row i begins with local replica i's messages, one after another, of `bytes` bytes each; they
    /// are computed, and read, on `queue`: by the host where that is null.
    Delivery(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
             std::shared_ptr<const DeliveryPlan> plan, arena::Rows messages, int64_t bytes,
             arena::Queue* queue);

    void begin(int tag);
    bool moves() const { return transfer_ != nullptr; }
    /// Whether queues order what moves: behind what is on `queue` by the beginning, and before what
    /// is launched there after order_behind().
    bool ordered() const { return queue_ && transport_.queue(); }
    void order_behind() const;
    /// Per local replica, once it is done, or ordered.
    std::vector<std::vector<Heard>> heard() const;

protected:
    bool advance() override { return !transfer_ || transfer_->test(); }
    std::vector<int> owing() const override;

private:
    char* posted(int64_t row, int64_t slot) const { return messages_.at(row, 0) + slot * bytes_; }

    RowTransport& transport_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const DeliveryPlan> plan_;
    arena::Rows messages_;
    int64_t bytes_;
    arena::Queue* queue_;
    std::shared_ptr<char> staged_;    // messages_, where the transport cannot read these
    std::shared_ptr<char> received_;  // one after another, in the plan's order
    std::unique_ptr<Transfer> transfer_;
    arena::Event moved_{};  // behind it, on the transport's queue
};

}  // namespace dbench::comm
