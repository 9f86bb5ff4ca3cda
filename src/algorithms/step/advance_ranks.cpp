// Stepper::advance for one replica per rank: runs iterations of an asynchronous algorithm, each
// replica at its own pace.

#include "algorithms/asynchronous/rank_peers.hpp"
#include "algorithms/step/stepper.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {

RankSpanEnd Stepper::advance(const RankSpan& span, RankPeers& peers) {
    Asynchronous& algorithm = *parts_.algorithm->asynchronous();
    const arena::Rows x = table_->parameters();
    DBENCH_EXPECT(x.count == 1 && !staged_ && queue_.immediate());
    std::vector<IterationRecord> records = begin_records(span.begin, span.end, span.lr);
    const auto timed = [this](IterationRecord& record, const auto& work) {
        timers_.start();
        work();
        timers_.stop();
        record.times.add(timers_.all(), 1);
    };
    timed(records.front(), [&] {
        probe_.begin(span.begin, records.front());
        probe_.about_to_average(x);
        const TimedScope scope(timers_, Time::exchange);
        peers.service().begin(span.begin, span.end);
        peers.open(span.begin);
    });
    for (int64_t t = span.begin; peers.service().may_begin(t, span.stop_requested()); ++t) {
        IterationRecord& record = records[static_cast<size_t>(t - span.begin)];
        const Turn turn{x.first, t};
        const bool measured = t == span.begin;
        timed(record, [&] {
            {
                const TimedScope scope(timers_, Time::exchange);
                peers.begin(turn);
            }
            span.gradient(turn, algorithm.snapshots(), record);
            if (measured) probe_.gradient(g_, layout_.all());
            const TimedScope scope(timers_, Time::exchange);
            algorithm.average(turn, peers);
            peers.run_exclusively([&] {
                record.staleness[0] = static_cast<double>(algorithm.staleness(turn, peers));
                apply(turn, record.lr, measured);
            });
        });
        record.replica_time[0] = span.clock();
    }
    comm::Service::SpanEnd reached{};
    IterationRecord end;
    timed(end, [&] {
        const TimedScope scope(timers_, Time::exchange);
        reached = peers.service().finish_span();
    });
    probe_.finish();
    records.resize(static_cast<size_t>(reached.iteration - span.begin));
    if (!records.empty()) records.back().times.add(end.times, 1);
    const std::vector<double> rows =
        peers.take_sent(span.begin, static_cast<int64_t>(records.size()));
    for (size_t k = 0; k < rows.size(); ++k) {
        Sent sent = this->sent(records[k].iteration);
        sent.degree = rows[k] / static_cast<double>(placement_.replicas);
        sent.messages = static_cast<int64_t>(rows[k]);
        sent.rows = rows[k];
        fill_record(sent, 1, records[k]);
    }
    algorithm.clock() = span.clock();
    return {std::move(records), reached.stop};
}

}  // namespace dbench::algorithms
