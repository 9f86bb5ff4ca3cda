// Stepper::advance for all replicas in one process: runs iterations of an asynchronous algorithm,
// event by event in virtual time.

#include "algorithms/asynchronous/local_peers.hpp"
#include "algorithms/step/stepper.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {

// For turns that end at the same time, first all averagings happen in the order of replicas, then
// all updates, then the snapshots of the next turns.
std::vector<IterationRecord> Stepper::advance(const Span& span) {
    Asynchronous& algorithm = *parts_.algorithm->asynchronous();
    const arena::Rows x = table_->parameters(), snapshots = algorithm.snapshots();
    DBENCH_EXPECT(x.first == 0 && x.count == placement_.replicas && !staged_);
    std::vector<IterationRecord> records = begin_records(span.begin, span.end, span.lr);

    timers_.start();
    probe_.begin(span.begin, records.front());
    probe_.about_to_average(x);
    LocalPeers peers(x, snapshots, layout_.all(), queue_);
    for (int64_t i = 0; i < x.count; ++i) peers.begin({i, span.begin});
    timers_.stop();
    records.front().times.add(timers_.all(), 1);

    Timeline timeline(span.times, x.count, span.begin, span.end);
    const auto record_of = [&](const Turn& turn) -> IterationRecord& {
        return records[static_cast<size_t>(turn.iteration - span.begin)];
    };
    for (const auto* turns = &timeline.next(); !turns->empty(); turns = &timeline.next()) {
        timers_.start();
        for (const Turn& turn : *turns) {
            span.gradient(turn, snapshots, record_of(turn));
            if (turn.iteration == span.begin) {
                probe_.gradient(g_.only(turn.replica), layout_.all(), turn.replica);
            }
        }
        {
            const TimedScope scope(timers_, Time::exchange);
            for (const Turn& turn : *turns) algorithm.average(turn, peers);
        }
        for (const Turn& turn : *turns) {
            IterationRecord& record = record_of(turn);
            const auto i = static_cast<size_t>(turn.replica);
            record.staleness[i] = static_cast<double>(algorithm.staleness(turn, peers));
            record.replica_time[i] = algorithm.clock() + timeline.now();
            apply(turn, record.lr, turn.iteration == span.begin);
        }
        for (const Turn& turn : *turns) {
            // The next snapshot after the span's end is taken, and sent, after the barrier.
            if (turn.iteration + 1 == span.end) continue;
            const TimedScope scope(timers_, Time::exchange);
            peers.begin({turn.replica, turn.iteration + 1});
        }
        timers_.stop();
        const double share = 1.0 / static_cast<double>(turns->size());
        for (const Turn& turn : *turns) record_of(turn).times.add(timers_.all(), share);
    }
    probe_.finish();
    algorithm.clock() += timeline.now();
    return records;
}

/// Returns records with everything that is known before the iterations begin.
std::vector<IterationRecord> Stepper::begin_records(
    int64_t begin, int64_t end, const std::function<double(int64_t)>& lr) const {
    std::vector<IterationRecord> records(static_cast<size_t>(end - begin));
    for (int64_t t = begin; t < end; ++t) {
        IterationRecord& record = records[static_cast<size_t>(t - begin)];
        record.iteration = t;
        record.lr = lr(t);
        record.round = round(t);
        record.asynchronous = true;
        record.times.set_details_unknown();
        fill_record(sent(t), 1, record);
        for (auto* values :
             {&record.loss, &record.accuracy, &record.staleness, &record.replica_time}) {
            values->resize(static_cast<size_t>(g_.count));
        }
    }
    return records;
}

// Computes x_i <- x_i - lr d(g_i). The gradient was taken at the snapshot.
void Stepper::apply(const Turn& turn, double lr, bool measured) {
    const TimedScope scope(timers_, Time::update);
    const int64_t i = turn.replica - g_.first;
    const arena::Rows x = table_->parameters().only(i), g = g_.only(i);
    if (clipping_) clipping_->clip(layout_, g, queue_);
    parts_.optimizer->step(x, x, parts_.algorithm->asynchronous()->snapshots().only(i), g,
                           layout_.all(), {lr, turn.iteration + 1},
                           measured ? probe_.squared_update(i) : nullptr, queue_);
}

}  // namespace dbench::algorithms
