#include "comm/delivery.hpp"

#include <utility>

namespace dbench::comm {

Delivery::Delivery(RowPlane& plane, std::shared_ptr<ScratchPool> pool,
                   std::shared_ptr<const MixingPlan> plan, arena::Rows messages, int64_t bytes)
    : plane_(plane),
      pool_(std::move(pool)),
      plan_(std::move(plan)),
      messages_(messages),
      bytes_(bytes) {}

void Delivery::begin(int tag) {
    std::vector<Message> out, in;
    for (const Parcel& parcel : plan_->send) {
        for (const int64_t row : parcel.rows) {
            out.push_back({parcel.rank, tag, messages_.at(row, 0), bytes_});
        }
    }
    received_ = pool_->take(plan_->slots * bytes_);
    for (const Parcel& parcel : plan_->receive) {
        for (const int64_t slot : parcel.rows) {
            in.push_back({parcel.rank, tag, received_.get() + slot * bytes_, bytes_});
        }
    }
    if (!out.empty() || !in.empty()) transfer_ = plane_.start(out, in);
}

std::vector<std::vector<Heard>> Delivery::heard(const Placement& placement, int rank) const {
    std::vector<int64_t> replica(static_cast<size_t>(plan_->slots));
    for (const Parcel& parcel : plan_->receive) {
        for (const int64_t slot : parcel.rows) {
            replica[slot] = placement.begin(parcel.rank) + plan_->slot_rows[slot];
        }
    }
    std::vector<std::vector<Heard>> all(plan_->terms.size());
    for (size_t row = 0; row < all.size(); ++row) {
        for (const Source& source : plan_->terms[row]) {
            if (source.received) {
                all[row].push_back({replica[source.index], source.weight,
                                    received_.get() + source.index * bytes_});
            } else {
                all[row].push_back({placement.begin(rank) + source.index, source.weight,
                                    messages_.at(source.index, 0)});
            }
        }
    }
    return all;
}

std::vector<int> Delivery::owing() const {
    return transfer_ ? transfer_->owing() : std::vector<int>();
}

}  // namespace dbench::comm
