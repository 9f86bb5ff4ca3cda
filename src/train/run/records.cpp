#include "train/run/records.hpp"

#include <utility>

namespace dbench::train {

Records::Records(arena::Queue& queue, int64_t replicas, Sink sink)
    : queue_(queue),
      max_pending_(queue.immediate() ? 0 : kMaxPending),
      replicas_(replicas),
      sink_(std::move(sink)),
      values_(
          queue.memories().values<double>(static_cast<size_t>((max_pending_ + 1) * 2 * replicas))) {
}

void Records::add(algorithms::IterationRecord record) {
    added_.push_back({std::move(record), queue_.record(), next_});
    next_ = (next_ + 1) % (max_pending_ + 1);
    while (static_cast<int64_t>(added_.size()) > max_pending_) {
        queue_.finish(added_.front().event, "losses that are recorded");
        deliver_first();
    }
}

void Records::receive_device_values() {
    arena::finish(queue_, "state that is evaluated or saved");
    while (!added_.empty()) deliver_first();
}

void Records::deliver_first() {
    Added first = std::move(added_.front());
    added_.pop_front();
    const double* const loss = values_of(first.record_index);
    first.record.loss.assign(loss, loss + replicas_);
    first.record.accuracy.assign(loss + replicas_, loss + 2 * replicas_);
    first.record.receive_device_values();
    sink_(first.record);
}

}  // namespace dbench::train
