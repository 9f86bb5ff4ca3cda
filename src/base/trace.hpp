#pragma once
// The trace of this process: what its threads do in the traced iterations, as spans of time, and
// the messages between ranks. Code anywhere adds events; profile/trace_file writes them.
//
// While no iteration is traced, each place that adds events costs one branch. Each thread adds to
// a buffer of its own, without a lock.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"

namespace dbench::base {

/// The work of a thread during a span.
enum class Work : uint8_t {
    forward,
    backward,
    update,
    exchange,
    wait,
    load,
    record,
    measure,
    evaluate
};

/// The name and the category of a span, as in the file of the trace.
struct WorkName {
    Work work;
    const char* name;
    const char* category;
};
inline constexpr std::array<WorkName, 9> kWorkNames{{
    {Work::forward, "forward", "compute"},
    {Work::backward, "backward", "compute"},
    {Work::update, "update", "compute"},
    {Work::exchange, "exchange", "exchange"},
    {Work::wait, "wait", "wait"},
    {Work::load, "load", "data"},
    {Work::record, "record", "record"},
    {Work::measure, "measure", "record"},
    {Work::evaluate, "evaluate", "record"},
}};

/// The threads of a rank, by their numbers in the trace: the thread of the program, and that of
/// messages in flight.
enum class TraceThread : uint8_t { program, progress };

/// One event. A number that is negative is not known, and is left out.
struct TraceEvent {
    enum class Kind : uint8_t { span, sent, received, bucket_ready };

    Kind kind = Kind::span;
    Work work = Work::forward;  ///< The work, if the event is a span.
    TraceThread thread = TraceThread::program;
    double begin = 0;  ///< By `now`; the time of an event that is not a span.
    double end = 0;    ///< The end of a span.
    int64_t iteration = -1;
    int64_t replica = -1, bucket = -1, peer = -1, bytes = -1;
    uint64_t message = 0;  ///< The number of a message, the same on its sender and its receiver.
};

namespace trace_details {
inline std::atomic<bool> on{false};
inline std::atomic<int64_t> iteration{-1};
}  // namespace trace_details

/// True while an iteration is traced.
inline bool tracing() { return trace_details::on.load(std::memory_order_relaxed); }
/// Returns the iteration that is traced. Spans between two iterations belong to the one before.
inline int64_t traced_iteration() {
    return trace_details::iteration.load(std::memory_order_relaxed);
}
/// Begins to trace iteration t, or goes on with it.
void trace_iteration(int64_t t);
/// Ends tracing, until the next iteration that is traced.
void stop_tracing();

/// Adds an event. Any thread may call it, also after `stop_tracing`, for what began before.
void add_to_trace(const TraceEvent& event);
/// Returns the events that all threads have added since the last call. One thread may call it.
std::vector<TraceEvent> take_trace();

/// Sets the columns with which the gradient buckets begin, bucket by bucket: the first one holds
/// the last columns.
void set_trace_buckets(std::vector<int64_t> begins);
/// Returns the bucket that holds a column; -1 if it is not known. The thread that sets buckets may
/// call it.
int64_t trace_bucket_of(int64_t column);
/// Returns the bucket on which the calling thread works; -1 if none was set.
int64_t current_trace_bucket();

/// Makes a bucket the current one for the enclosing block, if an iteration is traced.
class TraceBucketScope {
public:
    /// `column`: a column of the bucket.
    explicit TraceBucketScope(int64_t column);
    ~TraceBucketScope();
    TraceBucketScope(const TraceBucketScope&) = delete;
    TraceBucketScope& operator=(const TraceBucketScope&) = delete;

private:
    int64_t before_;
};

/// Adds the enclosing block as a span, if the iteration is traced when it begins.
class TraceSpan {
public:
    /// `wanted` false: adds no span.
    explicit TraceSpan(Work work, int64_t replica = -1, int64_t bucket = -1, bool wanted = true)
        : begin_(wanted && tracing() ? now() : kNotTraced),
          work_(work),
          replica_(replica),
          bucket_(bucket) {}
    ~TraceSpan() {
        if (begin_ != kNotTraced) add();
    }
    TraceSpan(const TraceSpan&) = delete;
    TraceSpan& operator=(const TraceSpan&) = delete;

private:
    static constexpr double kNotTraced = -1;
    void add() const;

    double begin_;
    Work work_;
    int64_t replica_, bucket_;
};

}  // namespace dbench::base
