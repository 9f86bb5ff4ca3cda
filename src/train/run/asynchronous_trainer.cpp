#include "train/run/asynchronous_trainer.hpp"

#include <algorithm>

#include "base/signals.hpp"
#include "train/run/housekeeping.hpp"
#include "train/run/stop_request.hpp"

namespace dbench::train {

using algorithms::ComputeTimes;
using algorithms::Timeline;
using algorithms::Turn;

int64_t next_barrier(const TrainerPlan& plan, int64_t t, int64_t replicas) {
    // Records are kept in memory: for each replica its loss, accuracy, staleness and time.
    constexpr int64_t kMostIterations = 1 << 16, kMostBytes = 256 << 20;
    constexpr int64_t kReplicaBytes = 4 * sizeof(double);
    const int64_t most =
        std::clamp<int64_t>(kMostBytes / (kReplicaBytes * replicas), 1, kMostIterations);
    const int64_t last = std::min(plan.iterations, t + most);
    const auto divides = [](int64_t every, int64_t at) { return every > 0 && at % every == 0; };
    for (int64_t at = t + 1; at < last; ++at) {
        if (divides(plan.evaluate_every, at) || divides(plan.checkpoint_every, at) ||
            plan.profile.rows.due(at) || plan.profile.variance.due(at)) {
            return at;
        }
    }
    return last;
}

data::BatchOrder batch_order(const TrainerPlan& plan, const ComputeTimes& times, int64_t replicas) {
    // Yields the turns of one span (barrier to barrier) in the order in which they end, span by
    // span.
    struct State {
        TrainerPlan plan;
        ComputeTimes times;
        int64_t replicas, barrier;
        std::optional<Timeline> timeline;
        std::vector<Turn> turns;
        size_t next = 0;

        std::optional<data::BatchRequest> operator()() {
            while (next == turns.size()) {
                next = 0;
                if (timeline) turns = timeline->next();
                if (!turns.empty()) break;
                if (barrier >= plan.iterations) return std::nullopt;
                const int64_t begin = barrier;
                barrier = next_barrier(plan, begin, replicas);
                timeline.emplace(times, replicas, begin, barrier);
            }
            const Turn& turn = turns[next++];
            return data::BatchRequest{turn.iteration, turn.replica};
        }
    };
    return State{plan, times, replicas, plan.first, std::nullopt, {}};
}

std::string train_asynchronously(const TrainerParts& p, const TrainerPlan& plan,
                                 const ComputeTimes& times) {
    Housekeeping housekeeping(p, plan);
    if (plan.first == 0) housekeeping.evaluate(0);
    StopRequest stop(p.world, plan.first);
    const auto lr = [&](int64_t t) { return p.learning_rate.at(t); };
    const auto gradient = [&](const Turn& turn, arena::Rows snapshots,
                              algorithms::IterationRecord& record) {
        const data::Batch* batch;
        {
            const algorithms::TimedScope waiting(p.stepper.timers(), algorithms::Time::data);
            batch = &p.loader.next();
        }
        const auto score = p.executor.gradient(turn.iteration, snapshots, turn.replica, *batch,
                                               p.stepper.timers());
        record.loss[static_cast<size_t>(turn.replica)] = score.loss;
        record.accuracy[static_cast<size_t>(turn.replica)] = score.accuracy;
    };
    for (int64_t begin = plan.first; begin < plan.iterations;) {
        housekeeping.check(begin);
        if (stop.agreed(begin, !base::received_signal().empty()))
            return housekeeping.end_early(begin);
        const int64_t end = next_barrier(plan, begin, p.replicas.x().count);
        auto records = p.stepper.advance({begin, end, times, lr, gradient});
        arena::finish(p.world.place().compute(), "times that are recorded");
        for (auto& record : records) {
            record.receive_device_values();
            record.epoch = housekeeping.epoch(record.iteration + 1);
            housekeeping.report(record);
        }
        housekeeping.completed(end);
        begin = end;
    }
    stop.end();
    return "";
}

}  // namespace dbench::train
