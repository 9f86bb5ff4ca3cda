#include "train/run/trainer.hpp"

#include <utility>

#include "base/signals.hpp"
#include "train/run/between.hpp"
#include "train/run/stop_request.hpp"

namespace dbench::train {

std::string train(const TrainerParts& p, const TrainerPlan& plan) {
    Between between(p, plan);
    p.stepper.go_on_at(plan.first);
    p.stepper.will_go_on_to(plan.iterations);
    if (plan.first == 0) between.evaluate(0);
    StopRequest stop(p.world, plan.first, plan.apart);
    for (int64_t t = plan.first; t < plan.iterations; ++t) {
        between.check(t);
        if (stop.agreed(t, !base::noted_signal().empty())) return between.stopped(t);
        algorithms::IterationRecord record;
        record.epoch = between.epoch(t + 1);
        double delay = 0;
        const auto gradients = [&](const auto& ready) {
            delay = between.hold_up(t);
            p.executor.gradients(t, p.replicas.x(), p.loader, p.stepper.timers(), ready,
                                 between.records().loss(), between.records().accuracy());
        };
        p.stepper.step(t, p.learning_rate.at(t), gradients, record, p.observer);
        record.times[algorithms::Time::delay] = delay;
        between.records().add(std::move(record));
        between.note_uncaptured(t);
        between.completed(t + 1);
    }
    stop.end();
    return "";
}

}  // namespace dbench::train
