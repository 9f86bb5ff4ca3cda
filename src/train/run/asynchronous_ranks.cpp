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

namespace {

// Maximum number of iterations whose records are kept in memory.
constexpr int64_t kMaxBufferedIterations = 1 << 16;

/// Returns the seconds by which rank 0's clock of the run is ahead of this rank's: ranks start
/// their clocks at different moments.
double clock_offset(comm::World& world, const base::Stopwatch& clock) {
    world.barrier();
    const double now = clock.seconds();
    std::vector<double> first{world.rank() == 0 ? now : 0};
    world.sum(first);
    return first[0] - now;
}

}  // namespace

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
    span.clock = [&, offset = clock_offset(p.world, p.clock)] {
        return p.clock.seconds() + offset;
    };
    bool end_early = false;
    for (span.begin = plan.first; span.begin < plan.iterations && !end_early;) {
        span.end = std::min(next_barrier(plan, span.begin), span.begin + kMaxBufferedIterations);
        auto [records, wished] = p.stepper.advance(span, *peers);
        for (IterationRecord& record : records) {
            record.epoch = housekeeping.epoch(record.iteration + 1);
            housekeeping.report(record);
        }
        span.begin += static_cast<int64_t>(records.size());
        if (span.begin == span.end) housekeeping.completed(span.end);
        end_early = wished && span.begin < plan.iterations;
    }
    peers->service().close();
    return end_early ? housekeeping.end_early(span.begin) : "";
}

}  // namespace dbench::train
