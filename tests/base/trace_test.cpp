#include "base/trace.hpp"

#include <map>
#include <string>
#include <thread>

#include "catch.hpp"

namespace dbench::base::tests {

TEST_CASE("The events of all threads are taken, each thread's in order, while they are added") {
    constexpr int64_t kEvents = 3000;
    take_trace();
    std::vector<std::thread> threads;
    for (int64_t replica = 0; replica < 2; ++replica) {
        threads.emplace_back([replica] {
            for (int64_t t = 0; t < kEvents; ++t) {
                TraceEvent event;
                event.replica = replica;
                event.iteration = t;
                add_to_trace(event);
            }
        });
    }
    std::map<int64_t, int64_t> next;
    bool in_order = true;
    const auto take = [&] {
        for (const TraceEvent& event : take_trace()) {
            in_order &= event.iteration == next[event.replica]++;
        }
    };
    for (int k = 0; k < 100; ++k) take();
    for (std::thread& thread : threads) thread.join();
    take();
    CHECK(in_order);
    CHECK(next == std::map<int64_t, int64_t>{{0, kEvents}, {1, kEvents}});
}

TEST_CASE("Spans are added only if the iteration is traced when they begin") {
    take_trace();
    { const TraceSpan span(Work::forward); }
    CHECK(take_trace().empty());
    set_trace_buckets({100, 40, 0});
    trace_iteration(7);
    {
        const TraceSpan outer(Work::backward, 3);
        const TraceBucketScope bucket(64);
        const TraceSpan inner(Work::update);
        stop_tracing();
    }
    { const TraceSpan span(Work::forward); }
    const std::vector<TraceEvent> events = take_trace();
    REQUIRE(events.size() == 2);
    CHECK(events[0].work == Work::update);
    CHECK(events[0].bucket == 1);
    CHECK(events[0].iteration == 7);
    CHECK(events[1].work == Work::backward);
    CHECK(events[1].replica == 3);
    CHECK(events[1].bucket == -1);
    CHECK(events[1].begin <= events[0].begin);
    CHECK(events[0].end <= events[1].end);
    CHECK(trace_bucket_of(500) == 0);
    CHECK(trace_bucket_of(0) == 2);
    set_trace_buckets({});
    CHECK(trace_bucket_of(0) == -1);
}

TEST_CASE("The table names each kind of work in its place") {
    for (size_t k = 0; k < kWorkNames.size(); ++k) {
        CHECK(static_cast<size_t>(kWorkNames[k].work) == k);
    }
}

}  // namespace dbench::base::tests
