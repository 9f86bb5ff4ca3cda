#include "comm/exchange/delivery_operation.hpp"

#include <utility>

#include "arena/kernels.hpp"

namespace dbench::comm {

DeliveryOperation::DeliveryOperation(RowTransport& transport, std::shared_ptr<ScratchPool> pool,
                                     std::shared_ptr<const DeliveryPlan> plan, arena::Rows messages,
                                     int64_t bytes, arena::Queue& queue)
    : transport_(transport),
      pool_(std::move(pool)),
      plan_(std::move(plan)),
      messages_(messages),
      bytes_(bytes),
      queue_(queue) {}

void DeliveryOperation::begin(int tag) {
    std::vector<Message> out, in;
    if (messages_.space == arena::Space::device && !transport_.reads_devices() &&
        !plan_->out.empty()) {
        const arena::Rows from = messages_;
        staged_ = pool_->take(from.count * from.stride * arena::size_of(from.type));
        messages_.data = staged_.get();
        messages_.space = arena::Space::host;
        arena::copy(from, messages_, {0, from.stride}, queue_);
    }
    for (const auto& [rank, row, slot] : plan_->out) {
        out.push_back({rank, tag, message_address(row, slot), bytes_});
    }
    received_ = pool_->take(static_cast<int64_t>(plan_->in.size()) * bytes_);
    for (size_t k = 0; k < plan_->in.size(); ++k) {
        in.push_back(
            {plan_->in[k], tag, received_.get() + static_cast<int64_t>(k) * bytes_, bytes_});
    }
    if (out.empty() && in.empty()) return;
    if (ordered()) {
        arena::order(queue_, *transport_.queue(), "messages that are sent");
    } else {
        arena::finish(queue_, "messages that are sent");
    }
    transfer_ = transport_.start(out, in);
    if (ordered()) moved_ = transport_.queue()->record();
}

void DeliveryOperation::order_compute_after_transfer() const {
    if (transfer_) queue_.wait(moved_, "messages that have come");
}

std::vector<std::vector<UsedMessage>> DeliveryOperation::used_messages() const {
    std::vector<std::vector<UsedMessage>> all(plan_->used_messages.size());
    for (size_t row = 0; row < all.size(); ++row) {
        for (const DeliveryPlan::Source& source : plan_->used_messages[row]) {
            all[row].push_back({source.replica, source.weight,
                                source.received ? received_.get() + source.slot * bytes_
                                                : message_address(source.row, source.slot)});
        }
    }
    return all;
}

std::vector<int> DeliveryOperation::awaited_ranks() const {
    return transfer_ ? transfer_->awaited_ranks() : std::vector<int>();
}

}  // namespace dbench::comm
