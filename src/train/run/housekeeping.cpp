#include "train/run/housekeeping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/run_position.hpp"
#include "base/signals.hpp"
#include "base/trace.hpp"
#include "comm/failures.hpp"
#include "comm/wait.hpp"

namespace dbench::train {

Housekeeping::Housekeeping(const TrainerParts& parts, const TrainerPlan& plan)
    : parts_(parts),
      plan_(plan),
      reported_(static_cast<size_t>(parts.replicas.x().count)),
      records_(parts.world.place().compute(), parts.replicas.x().count,
               [this](algorithms::IterationRecord& record) { report(record); }) {
    progress_seconds_ = parts.world.progress_seconds();
}

void Housekeeping::check(int64_t t) {
    base::note_iteration(t);
    parts_.world.check_failures();
}

double Housekeeping::apply_delay(int64_t t) {
    const arena::Rows x = parts_.replicas.x();
    const double seconds = parts_.delays.seconds(x.first, x.count, t);
    slept_ = 0;
    if (seconds <= 0) return seconds;
    arena::finish(parts_.world.place().compute(), "work before a delay");
    const algorithms::TimedScope scope(parts_.stepper.timers(), algorithms::Time::gradient);
    const base::TraceSpan span(base::Work::forward);
    base::note_phase(algorithms::phase_name(algorithms::Time::delay));
    slept_ = parts_.world.pause(seconds);
    return seconds;
}

void Housekeeping::complete_times(double start, double waited, double delay,
                                  algorithms::Times& times) {
    using algorithms::Time;
    times[Time::start] = start;
    times[Time::data] += waited;
    times[Time::step] += waited;
    times[Time::delay] = delay;
    times[Time::forward] = slept_ + parts_.executor.take_forward_seconds();
    times[Time::backward] = times[Time::gradient] - times[Time::forward];
    const double progress = parts_.world.progress_seconds();
    times[Time::progress] = progress - std::exchange(progress_seconds_, progress);
    if (!parts_.world.place().immediate()) {
        times[Time::wait] = times[Time::mix] = std::numeric_limits<double>::quiet_NaN();
    }
}

double Housekeeping::epoch(int64_t completed) const {
    const double per_iteration =
        static_cast<double>(plan_.samples_per_iteration) / static_cast<double>(plan_.train_samples);
    return static_cast<double>(completed) * per_iteration;
}

void Housekeeping::evaluate(int64_t completed) {
    algorithms::EvaluationRecord record;
    record.iteration = completed;
    record.epoch = epoch(completed);
    base::note_phase("evaluation");
    records_.receive_device_values();
    const base::TraceSpan span(base::Work::evaluate);
    const base::Stopwatch watch;
    parts_.evaluator.evaluate(parts_.replicas.x(), record);
    // Ranks with fewer replicas to evaluate end earlier. They wait here, so that the next iteration
    // does not count this wait as a part of its exchange.
    parts_.world.barrier();
    record.seconds = watch.seconds();
    record.elapsed = parts_.clock.seconds();
    parts_.observer.evaluation(record);
    check_scores(completed, "test", record.test);
    check_scores(completed, "validation", record.validation);
}

// Scores are known on rank 0 only, which also ends the run.
void Housekeeping::check_scores(int64_t completed, const std::string& set,
                                const algorithms::Scores& scores) {
    if (parts_.world.rank() != 0) return;
    const bool of_mean = !std::isfinite(scores.mean_loss);
    const auto local = std::count_if(scores.local_loss.begin(), scores.local_loss.end(),
                                     [](double loss) { return !std::isfinite(loss); });
    if (!of_mean && local == 0) return;
    std::string text = "the " + set + " loss of ";
    if (of_mean) text += "the mean model";
    if (local > 0) {
        text += (of_mean ? " and of " : "") + std::to_string(local) + " of " +
                std::to_string(scores.local_loss.size()) + " local models";
    }
    text += completed == 0 ? " is not finite before the first iteration"
                           : " is not finite after iteration " + std::to_string(completed - 1);
    if (plan_.stop_on_nonfinite) throw base::RunError(text + "; /nonfinite says stop");
    if (!reported_sets_.insert(set).second) return;
    base::warn(text);
    parts_.observer.event(std::max<int64_t>(0, completed - 1), "nonfinite", text);
}

// A failed checkpoint does not end the run, and the previous one is kept. Repeated errors with the
// same text are reported once.
void Housekeeping::save(int64_t completed) {
    base::note_phase("checkpoint");
    const base::TraceSpan span(base::Work::record);
    // Outside the try block: an error of the observer is not a failure of the checkpoint. A run
    // that can no longer be recorded must end.
    records_.receive_device_values();
    std::string failure = parts_.observer.flush_to_disk();
    try {
        if (failure.empty()) return parts_.checkpoint(completed);
    } catch (const comm::PeerFailure&) {
        throw;
    } catch (const comm::Stalled&) {
        throw;
    } catch (const base::RunError& error) {
        failure = error.what();
    }
    if (parts_.world.rank() != 0 || last_failure_ == failure) return;
    last_failure_ = failure;
    base::warn(failure);
    parts_.observer.event(completed - 1, "checkpoint", failure);
}

void Housekeeping::completed(int64_t completed) {
    const auto report = [&](const auto& work) {
        parts_.observer.note_progress();
        work();
        parts_.observer.note_progress();
    };
    const bool due = plan_.evaluate_every > 0 && completed % plan_.evaluate_every == 0;
    if (due || completed == plan_.iterations) report([&] { evaluate(completed); });
    const bool saves = plan_.checkpoint_every > 0 && completed % plan_.checkpoint_every == 0;
    if (saves && completed < plan_.iterations) report([&] { save(completed); });
}

std::string Housekeeping::end_early(int64_t completed) {
    comm::note_stop_agreed();
    parts_.stepper.exchange().drain();  // Messages that were sent ahead.
    records_.receive_device_values();
    if (const std::string obstacle = parts_.observer.flush_to_disk(); !obstacle.empty()) {
        throw base::RunError(obstacle);
    }
    parts_.checkpoint(completed);
    const std::string signal = base::received_signal();
    return signal.empty() ? "a signal to another rank" : signal;
}

void Housekeeping::check_losses(int64_t t, const std::vector<double>& loss) {
    for (size_t i = 0; i < loss.size(); ++i) {
        if (std::isfinite(loss[i]) || reported_[i]) continue;
        reported_[i] = true;
        const auto replica = parts_.replicas.x().first + static_cast<int64_t>(i);
        const std::string text = "replica " + std::to_string(replica) +
                                 ": the training loss is not finite in iteration " +
                                 std::to_string(t) + " (a lower /optimizer/lr may help)";
        if (plan_.stop_on_nonfinite) {
            const std::string late = parts_.world.place().immediate()
                                         ? ""
                                         : ", noticed up to " +
                                               std::to_string(Records::kMaxPending) +
                                               " iterations later: the device's losses arrive late";
            throw base::RunError(text + "; /nonfinite says stop" + late);
        }
        base::warn(text);
    }
}

void Housekeeping::report_uncaptured(int64_t t) {
    if (uncaptured_reported_) return;
    const std::string why = parts_.executor.uncaptured();
    if (why.empty()) return;
    uncaptured_reported_ = true;
    const std::string text = "passes go on without being captured: " + why;
    base::warn(text);
    if (parts_.world.rank() == 0) parts_.observer.event(t, "capture", text.substr(0, 512));
}

void Housekeeping::report(algorithms::IterationRecord& record) {
    record.times[algorithms::Time::profile] += observer_seconds_;
    {
        const base::TraceSpan span(base::Work::record);
        const base::Stopwatch watch;
        parts_.observer.iteration(record);
        observer_seconds_ = watch.seconds();
    }
    check_losses(record.iteration, record.loss);  // after recording: the values are the evidence
}

}  // namespace dbench::train
