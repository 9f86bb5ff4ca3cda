#pragma once  // Private to train/run.
// A queue of iteration records between a training loop and the observer. A device may still be
// computing the losses of the last iterations. The host does not wait for them in every iteration;
// it passes each record on, in order, when its losses and times are ready, at most kMaxPending
// iterations later.

#include <deque>
#include <functional>

#include "algorithms/step/observer.hpp"
#include "arena/device/memory.hpp"
#include "arena/device/queue.hpp"

namespace dbench::train {

/// Owns the memory into which the device writes losses and accuracies. Used by one thread.
class Records {
public:
    static constexpr int64_t kMaxPending = 2;
    using Sink = std::function<void(algorithms::IterationRecord&)>;

    /// `queue` computes the losses. If it is immediate, they are ready when a record is added.
    Records(arena::Queue& queue, int64_t replicas, Sink sink);

    /// Memory for the losses of the next iteration, [R]; `accuracy` is the same for its accuracies.
    double* loss() { return values_of(next_); }
    double* accuracy() { return loss() + replicas_; }
    /// Adds that iteration's record; its losses and accuracies are filled in later.
    void add(algorithms::IterationRecord record);
    /// Waits for the device and passes on all records that were added.
    void receive_device_values();

private:
    struct Added {
        algorithms::IterationRecord record;
        arena::Event event;
        int64_t record_index;
    };

    double* values_of(int64_t k) { return values_.data() + k * 2 * replicas_; }
    void deliver_first();

    arena::Queue& queue_;
    int64_t max_pending_;  ///< Records that may wait for the queue.
    int64_t replicas_;
    Sink sink_;
    arena::HostVisibleArray<double> values_;  ///< Per record: R losses, then R accuracies.
    int64_t next_ = 0;                        ///< Index of the next iteration's values.
    std::deque<Added> added_;
};

}  // namespace dbench::train
