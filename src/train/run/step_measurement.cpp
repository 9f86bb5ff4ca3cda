#include "train/run/step_measurement.hpp"

#include <string>

#include "base/clock.hpp"
#include "train/passes/executor.hpp"
#include "train/replicas.hpp"
#include "train/run/records.hpp"

namespace dbench::train {
namespace {

/// Receives graph changes, of which a measurement takes no notice.
class NoObserver final : public algorithms::Observer {
public:
    void iteration(const algorithms::IterationRecord&) override {}
    void evaluation(const algorithms::EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

}  // namespace

StepMeasurement measure_steps(arena::Queue& queue, Replicas& replicas, Executor& executor,
                              data::Loader& loader, algorithms::Stepper& stepper,
                              const algorithms::LearningRate& learning_rate, int64_t iterations) {
    StepMeasurement found;
    NoObserver observer;
    Records records(queue, replicas.x().count, [&](algorithms::IterationRecord& record) {
        found.times.push_back(record.times);
    });
    stepper.resume_at(0);
    stepper.set_uninterrupted_until(iterations);
    for (int64_t t = 0; t < iterations; ++t) {
        algorithms::IterationRecord record;
        size_t bucket = 0;
        const auto gradients = [&](const auto& ready) {
            std::vector<double> at;
            double elsewhere = 0;  // Seconds that `ready` has taken.
            const base::Stopwatch watch;
            executor.gradients(
                t, replicas.x(), loader, stepper.timers(),
                [&](arena::Columns columns) {
                    const double now = watch.seconds();
                    at.push_back(now - elsewhere);
                    if (t == 0) found.buckets.push_back({columns, 0});
                    ready(columns);
                    elsewhere += watch.seconds() - now;
                },
                records.loss(), records.accuracy());
            const double whole = watch.seconds() - elsewhere;
            for (; bucket < at.size() && bucket < found.buckets.size(); ++bucket) {
                found.buckets[bucket].share += at[bucket] / whole / static_cast<double>(iterations);
            }
        };
        stepper.step(t, learning_rate.at(t), gradients, record, observer);
        records.add(std::move(record));
    }
    records.receive_device_values();
    return found;
}

}  // namespace dbench::train
