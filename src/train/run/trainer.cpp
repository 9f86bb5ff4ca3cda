#include "train/run/trainer.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/signals.hpp"
#include "base/trace.hpp"
#include "train/run/housekeeping.hpp"
#include "train/run/stop_request.hpp"

namespace dbench::train {
namespace {

// Waits until the first batch of the next iteration can be used. Returns false if a signal arrives
// first, because a batch of large photographs may take minutes. Several ranks cannot end here, as
// others may have begun the iteration: they wait in the loader, for at most DBENCH_STOP_TIMEOUT
// after a signal. A GPU may still compute the previous iteration: it waits in the loader as well.
bool has_batch(const TrainerParts& p) {
    constexpr double kCheckInterval = 0.05;  // seconds
    if (p.world.size() > 1 || !p.world.place().immediate()) return true;
    const base::TraceSpan span(base::Work::load);
    while (!p.loader.wait_for_next(kCheckInterval)) {
        if (!base::received_signal().empty()) return false;
    }
    return true;
}

}  // namespace

std::string train(const TrainerParts& p, const TrainerPlan& plan) {
    Housekeeping housekeeping(p, plan);
    p.stepper.resume_at(plan.first);
    p.stepper.set_uninterrupted_until(plan.iterations);
    if (plan.first == 0) housekeeping.evaluate(0);
    StopRequest stop(p.world, plan.first, plan.min_sync_interval);
    for (int64_t t = plan.first; t < plan.iterations; ++t) {
        housekeeping.check(t);
        if (stop.agreed(t, !base::received_signal().empty())) return housekeeping.end_early(t);
        p.observer.iteration_begins(t);
        const double start = p.common_clock.at(base::now());
        const base::Stopwatch waiting;
        if (!has_batch(p)) return housekeeping.end_early(t);
        const double waited = waiting.seconds();
        algorithms::IterationRecord record;
        record.epoch = housekeeping.epoch(t + 1);
        double delay = 0;
        const auto gradients = [&](const auto& ready) {
            delay = housekeeping.apply_delay(t);
            p.executor.gradients(t, p.replicas.x(), p.loader, p.stepper.timers(), ready,
                                 housekeeping.records().loss(), housekeeping.records().accuracy());
        };
        p.stepper.step(t, p.learning_rate.at(t), gradients, record, p.observer);
        housekeeping.complete_times(start, waited, delay, record.times);
        housekeeping.records().add(std::move(record));
        housekeeping.report_uncaptured(t);
        housekeeping.completed(t + 1);
        p.observer.iteration_ended(t);
    }
    stop.end();
    return "";
}

}  // namespace dbench::train
