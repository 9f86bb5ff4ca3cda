#include "comm/world/exchange_trace.hpp"

#include <algorithm>
#include <atomic>

#include "base/trace.hpp"

namespace dbench::comm {
namespace {

/// The end of the last span of the progress thread. Exchanges in flight overlap, but spans of a
/// thread may not: a span begins when the one before has ended.
std::atomic<double> last_end{0};

/// An arrow must end inside a span, so it ends shortly before the span does.
constexpr double kInside = 1e-6;

}  // namespace

void ExchangeTrace::done() const {
    using base::TraceEvent;
    TraceEvent event;
    event.iteration = iteration;
    event.bucket = bucket;
    event.thread = polled ? base::TraceThread::progress : base::TraceThread::program;
    const double now = base::now();
    double begin = now;
    if (polled) {
        begin = std::min(now, std::max(started, last_end.exchange(now)));
        event.work = base::Work::exchange;
        event.begin = begin;
        event.end = now;
        event.bytes = bytes;
        base::add_to_trace(event);
    }
    event.kind = TraceEvent::Kind::received;
    event.begin = polled ? std::max(begin, now - kInside) : now;
    for (const Arrival& each : arrivals) {
        event.peer = each.rank;
        event.bytes = each.bytes;
        event.message = each.message;
        base::add_to_trace(event);
    }
}

}  // namespace dbench::comm
