// train_on_ranks: the training loop of asynchronous algorithms with one replica per rank, in real
// time.

#include <algorithm>

#include "algorithms/asynchronous/rank_peers.hpp"
#include "base/signals.hpp"
#include "train/run/asynchronous_trainer.hpp"
#include "train/run/housekeeping.hpp"

namespace dbench::train {

using algorithms::IterationRecord;
using algorithms::Time;
using algorithms::TimedScope;
using algorithms::Turn;

std::string train_on_ranks(const TrainerParts& p, const TrainerPlan& plan) {
    Housekeeping housekeeping(p, plan);
    if (plan.first == 0) housekeeping.evaluate(0);
    const auto peers = algorithms::make_rank_peers(p.world, *p.stepper.algorithm().asynchronous(),
                                                   *p.stepper.schedule(), p.replicas.x());
    const auto gradient = [&](const Turn& turn, arena::Rows snapshots, IterationRecord& record) {
        housekeeping.check(turn.iteration);
        // A rank that is stopping skips its delay: the other ranks wait for it.
        if (!peers->service().stopping()) {
            record.times[Time::delay] = housekeeping.apply_delay(turn.iteration);
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
    span.stop_requested = [] { return !base::received_signal().empty(); };
    span.clock = [&] { return p.common_clock.at(base::now()); };
    bool end_early = false;
    for (span.begin = plan.first; span.begin < plan.iterations && !end_early;) {
        span.end = next_barrier(plan, span.begin, p.replicas.x().count);
        auto [records, stop_requested] = p.stepper.advance(span, *peers);
        for (IterationRecord& record : records) {
            record.epoch = housekeeping.epoch(record.iteration + 1);
            housekeeping.report(record);
        }
        span.begin += static_cast<int64_t>(records.size());
        if (span.begin == span.end) housekeeping.completed(span.end);
        end_early = stop_requested && span.begin < plan.iterations;
    }
    peers->service().close();
    return end_early ? housekeeping.end_early(span.begin) : "";
}

}  // namespace dbench::train
