#include "train/run/records.hpp"

#include <utility>

namespace dbench::train {

Records::Records(arena::Queue* queue, int64_t replicas, Sink sink)
    : queue_(queue),
      replicas_(replicas),
      sink_(std::move(sink)),
      values_(static_cast<size_t>((queue ? kMaxPending + 1 : 1) * 2 * replicas)) {}

void Records::add(algorithms::IterationRecord record) {
    added_.push_back({std::move(record), queue_ ? queue_->record() : arena::Event{}, next_});
    if (queue_) next_ = (next_ + 1) % (kMaxPending + 1);
    const int64_t max_pending = queue_ ? kMaxPending : 0;
    while (static_cast<int64_t>(added_.size()) > max_pending) {
        if (queue_) queue_->finish(added_.front().event, "losses that are recorded");
        deliver_first();
    }
}

void Records::settle() {
    arena::finish(queue_, "state that is evaluated or saved");
    while (!added_.empty()) deliver_first();
}

void Records::deliver_first() {
    Added first = std::move(added_.front());
    added_.pop_front();
    const double* const loss = slot(first.slot);
    first.record.loss.assign(loss, loss + replicas_);
    first.record.accuracy.assign(loss + replicas_, loss + 2 * replicas_);
    first.record.settle();
    sink_(first.record);
}

}  // namespace dbench::train
