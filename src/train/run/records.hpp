#pragma once
// Records of iterations on their way to the observer. A device may still be computing the losses of
// the last ones: the host does not wait for them in every iteration, but hands the records on in
// order when their losses and times are there, at most kBehind iterations later.

#include <deque>
#include <functional>

#include "algorithms/step/observer.hpp"
#include "arena/device/memory.hpp"
#include "arena/device/queue.hpp"

namespace dbench::train {

class Records {
public:
    static constexpr int64_t kBehind = 2;
    using Tell = std::function<void(algorithms::IterationRecord&)>;

    /// `queue`: where losses are computed; null: they are there when they are added.
    Records(arena::Queue* queue, int64_t replicas, Tell tell);

    /// Where those of the coming iteration are to be written, [R] each.
    double* loss() { return slot(next_); }
    double* accuracy() { return loss() + replicas_; }
    /// That iteration's record, all but they.
    void add(algorithms::IterationRecord record);
    /// Waits for the device, and tells all that was added.
    void settle();

private:
    struct Added {
        algorithms::IterationRecord record;
        arena::Event event;
        int64_t slot;
    };

    double* slot(int64_t k) { return values_.data() + k * 2 * replicas_; }
    void tell_first();

    arena::Queue* queue_;
    int64_t replicas_;
    Tell tell_;
    arena::Values<double> values_;  ///< losses and accuracies of an iteration side by side
    int64_t next_ = 0;              ///< slot of the coming iteration
    std::deque<Added> added_;
};

}  // namespace dbench::train
