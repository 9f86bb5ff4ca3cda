#include "train/trainer.hpp"

#include <cmath>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "base/whereabouts.hpp"
#include "train/stop_wish.hpp"

namespace dbench::train {
namespace {

// Reports a replica's first non-finite loss; the values themselves are recorded as they are.
class FiniteWatch {
public:
    FiniteWatch(int64_t first, int64_t count, bool stop)
        : first_(first), reported_(count), stop_(stop) {}
    void look(int64_t t, const std::vector<double>& loss) {
        for (size_t i = 0; i < loss.size(); ++i) {
            if (std::isfinite(loss[i]) || reported_[i]) continue;
            reported_[i] = true;
            const std::string text = "replica " + std::to_string(first_ + i) +
                                     ": the training loss is not finite in iteration " +
                                     std::to_string(t) + " (a lower /optimizer/lr may help)";
            if (stop_) throw base::RunError(text + "; /nonfinite says stop");
            base::warn(text);
        }
    }

private:
    int64_t first_;
    std::vector<bool> reported_;
    bool stop_;
};

// What a slow replica's computation adds to the iteration, before its gradients come.
void hold_up(const TrainerParts& p, double seconds) {
    if (seconds <= 0) return;
    const algorithms::TimedScope scope(p.stepper.timers(), algorithms::Time::gradient);
    base::note_phase(algorithms::phase_name(algorithms::Time::delay));
    p.world.pause(seconds);
}

}  // namespace

std::string train(const TrainerParts& p, const TrainerPlan& plan) {
    const int64_t first = p.replicas.x().first, count = p.replicas.x().count;
    const double epochs_per_iteration =
        static_cast<double>(plan.samples_per_iteration) / static_cast<double>(plan.train_samples);
    FiniteWatch finite(first, count, plan.stop_on_nonfinite);

    const auto evaluate = [&](int64_t completed) {
        algorithms::EvaluationRecord record;
        record.iteration = completed;
        record.epoch = static_cast<double>(completed) * epochs_per_iteration;
        base::note_phase("evaluation");
        const base::Stopwatch watch;
        p.evaluator.evaluate(p.replicas.x(), record);
        record.seconds = watch.seconds();
        record.elapsed = p.clock.seconds();
        p.observer.evaluation(record);
    };

    // A checkpoint that fails costs no more than itself: the one before stays. The same reason is
    // said once.
    std::string said;
    const auto checkpoint = [&](int64_t completed) {
        base::note_phase("checkpoint");
        try {
            p.observer.settle();
            p.checkpoint(completed);
        } catch (const base::RunError& error) {
            if (p.world.rank() != 0 || said == error.what()) return;
            said = error.what();
            base::warn(error.what());
            p.observer.event(completed - 1, "checkpoint", error.what());
        }
    };

    p.stepper.go_on_at(plan.first);
    if (plan.first == 0) evaluate(0);
    StopWish stop(p.world, plan.first, plan.apart);
    double recording = 0;  // seconds of the observer, charged to the next iteration's profiling
    for (int64_t t = plan.first; t < plan.iterations; ++t) {
        base::note_iteration(t);
        p.world.check_failures();
        if (stop.agreed(t, !base::noted_signal().empty())) {
            p.observer.settle();
            p.checkpoint(t);
            const std::string signal = base::noted_signal();
            return signal.empty() ? "a signal to another rank" : signal;
        }
        algorithms::IterationRecord record;
        record.epoch = static_cast<double>(t + 1) * epochs_per_iteration;
        record.loss.resize(count);
        record.accuracy.resize(count);
        const double delay = p.delays.seconds(first, count, t);
        const auto gradients = [&](const auto& ready) {
            hold_up(p, delay);
            p.executor.gradients(t, p.replicas.x(), p.loader, p.stepper.timers(), ready,
                                 record.loss.data(), record.accuracy.data());
        };
        p.stepper.step(t, p.learning_rate.at(t), gradients, record, p.observer);
        record.times[algorithms::Time::delay] = delay;
        record.times[algorithms::Time::profile] += recording;
        finite.look(t, record.loss);

        const base::Stopwatch observer_time;
        p.observer.iteration(record);
        recording = observer_time.seconds();

        const int64_t completed = t + 1;
        const bool due = plan.evaluate_every > 0 && completed % plan.evaluate_every == 0;
        if (due || completed == plan.iterations) evaluate(completed);
        const bool save = plan.checkpoint_every > 0 && completed % plan.checkpoint_every == 0;
        if (save && completed < plan.iterations) checkpoint(completed);
    }
    stop.end();
    return "";
}

}  // namespace dbench::train
