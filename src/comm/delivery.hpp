#pragma once
// Messages that are no rows, such as compressed ones: each replica's goes as it is to those who use
// it, and nothing is added on the way.

#include <memory>
#include <vector>

#include "comm/engine.hpp"
#include "comm/exchange.hpp"
#include "comm/mixing_plan.hpp"
#include "comm/placement.hpp"
#include "comm/row_plane.hpp"
#include "comm/scratch.hpp"

namespace dbench::comm {

class Delivery : public Pending {
public:
    /// The plan has neighbours only. Row i begins with the `bytes` bytes of local replica i's
    /// message.
    Delivery(RowPlane& plane, std::shared_ptr<ScratchPool> pool,
             std::shared_ptr<const MixingPlan> plan, arena::Rows messages, int64_t bytes);

    void begin(int tag);
    bool moves() const { return transfer_ != nullptr; }
    /// Per local replica, once it is done.
    std::vector<std::vector<Heard>> heard(const Placement& placement, int rank) const;

protected:
    bool advance() override { return !transfer_ || transfer_->test(); }
    std::vector<int> owing() const override;

private:
    RowPlane& plane_;
    std::shared_ptr<ScratchPool> pool_;
    std::shared_ptr<const MixingPlan> plan_;
    arena::Rows messages_;
    int64_t bytes_;
    std::shared_ptr<char> received_;  // [slots, bytes]
    std::unique_ptr<Transfer> transfer_;
};

}  // namespace dbench::comm
