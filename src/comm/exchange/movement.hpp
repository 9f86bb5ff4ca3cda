#pragma once
// Messages that nobody finishes: what is computed of them is ordered behind them by queues.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/transport/row_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

/// In the engine's care, so that a failure is noticed and who owes something is known.
class Movement : public Pending {
public:
    explicit Movement(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}

protected:
    bool advance() override { return transfer_->test(); }
    std::vector<int> owing() const override { return transfer_->owing(); }

private:
    std::unique_ptr<Transfer> transfer_;
};

/// Starts messages on a transport that has a queue, behind what is on that.
inline void move_over(Engine& engine, RowTransport& transport, std::span<const Message> out,
                      std::span<const Message> in) {
    if (out.empty() && in.empty()) return;
    engine.start(std::make_shared<Movement>(transport.start(out, in)), false);
}

}  // namespace dbench::comm
