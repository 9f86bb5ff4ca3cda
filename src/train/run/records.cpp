#include "train/run/records.hpp"

#include <utility>

namespace dbench::train {

Records::Records(arena::Queue* queue, int64_t replicas, Tell tell)
    : queue_(queue),
      replicas_(replicas),
      tell_(std::move(tell)),
      values_(static_cast<size_t>((queue ? kBehind + 1 : 1) * 2 * replicas)) {}

void Records::add(algorithms::IterationRecord record) {
    added_.push_back({std::move(record), queue_ ? queue_->record() : arena::Event{}, next_});
    if (queue_) next_ = (next_ + 1) % (kBehind + 1);
    const int64_t behind = queue_ ? kBehind : 0;
    while (static_cast<int64_t>(added_.size()) > behind) {
        if (queue_) queue_->finish(added_.front().event, "losses that are recorded");
        tell_first();
    }
}

void Records::settle() {
    arena::finish(queue_, "state that is evaluated or saved");
    while (!added_.empty()) tell_first();
}

void Records::tell_first() {
    Added first = std::move(added_.front());
    added_.pop_front();
    const double* const loss = slot(first.slot);
    first.record.loss.assign(loss, loss + replicas_);
    first.record.accuracy.assign(loss + replicas_, loss + 2 * replicas_);
    first.record.settle();
    tell_(first.record);
}

}  // namespace dbench::train
