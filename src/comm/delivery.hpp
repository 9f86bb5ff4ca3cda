#pragma once
// Messages that are no rows, such as compressed ones: each goes as it is to those who use it, and
// nothing is added on the way.

#include <memory>
#include <vector>

#include "comm/delivery_plan.hpp"
#include "comm/engine.hpp"
#include "comm/exchange.hpp"
#include "comm/row_plane.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

class Delivery : public Pending {
public:
    /// Row i begins with local replica i's messages, one after another, of `bytes` bytes each.
    Delivery(RowPlane& plane, std::shared_ptr<ScratchPool> pool,
             std::shared_ptr<const DeliveryPlan> plan, arena::Rows messages, int64_t bytes);

    void begin(int tag);
    bool moves() const { return transfer_ != nullptr; }
    /// Per local replica, once it is done.
    std::vector<std::vector<Heard>> heard() const;

protected:
    bool advance() override { return !transfer_ || transfer_->test(); }
    std::vector<int> owing() const override;

private:
    char* posted(int64_t row, int64_t slot) const { return messages_.at(row, 0) + slot * bytes_; }

    RowPlane& plane_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const DeliveryPlan> plan_;
    arena::Rows messages_;
    int64_t bytes_;
    std::shared_ptr<char> received_;  // one after another, in the plan's order
    std::unique_ptr<Transfer> transfer_;
};

}  // namespace dbench::comm
