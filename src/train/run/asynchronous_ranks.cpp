#include <algorithm>

#include "algorithms/asynchronous/rank_peers.hpp"
#include "base/signals.hpp"
#include "train/run/asynchronous_trainer.hpp"
#include "train/run/between.hpp"

namespace dbench::train {

using algorithms::IterationRecord;
using algorithms::Time;
using algorithms::TimedScope;
using algorithms::Turn;

namespace {

constexpr int64_t kMostApart = 1 << 16;  // iterations whose records wait in memory

/// What this rank's clock of the run is behind that of rank 0: they have begun at different
/// moments.
double behind(comm::World& world, const base::Stopwatch& clock) {
    world.barrier();
    const double now = clock.seconds();
    std::vector<double> first{world.rank() == 0 ? now : 0};
    world.sum(first);
    return first[0] - now;
}

}  // namespace

std::string train_on_ranks(const TrainerParts& p, const TrainerPlan& plan) {
    Between between(p, plan);
    if (plan.first == 0) between.evaluate(0);
    const auto peers = algorithms::make_rank_peers(p.world, *p.stepper.algorithm().asynchronous(),
                                                   *p.stepper.schedule(), p.replicas.x());
    const auto gradient = [&](const Turn& turn, arena::Rows snapshots, IterationRecord& record) {
        between.check(turn.iteration);
        if (!peers->service().stopping()) {  // else the others wait for those behind
            record.times[Time::delay] = between.hold_up(turn.iteration);
        }
        const data::Batch* batch;
        {
            const TimedScope waiting(p.stepper.timers(), Time::data);
            batch = &p.loader.next();
        }
        const auto score =
            p.executor.gradient(turn.iteration, snapshots, 0, *batch, p.stepper.timers());
        record.loss[0] = score.loss;
        record.accuracy[0] = score.accuracy;
    };
    algorithms::RankSpan span;
    span.lr = [&](int64_t t) { return p.learning_rate.at(t); };
    span.gradient = gradient;
    span.wish = [] { return !base::noted_signal().empty(); };
    span.clock = [&, late = behind(p.world, p.clock)] { return p.clock.seconds() + late; };
    bool stopped = false;
    for (span.begin = plan.first; span.begin < plan.iterations && !stopped;) {
        span.end = std::min(next_barrier(plan, span.begin), span.begin + kMostApart);
        auto [records, wished] = p.stepper.advance(span, *peers);
        for (IterationRecord& record : records) {
            record.epoch = between.epoch(record.iteration + 1);
            between.tell(record);
        }
        span.begin += static_cast<int64_t>(records.size());
        if (span.begin == span.end) between.completed(span.end);
        stopped = wished && span.begin < plan.iterations;
    }
    peers->service().close();
    return stopped ? between.stopped(span.begin) : "";
}

}  // namespace dbench::train
