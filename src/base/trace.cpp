#include "base/trace.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace dbench::base {
namespace {

/// The events of one thread, which adds them while another thread takes them: a list of blocks that
/// only grows at its end.
class TraceBuffer {
public:
    TraceBuffer() : reading_(new Block), writing_(reading_) {}
    ~TraceBuffer() {
        for (Block* block = reading_; block;) {
            delete std::exchange(block, block->next.load(std::memory_order_acquire));
        }
    }
    TraceBuffer(const TraceBuffer&) = delete;
    TraceBuffer& operator=(const TraceBuffer&) = delete;

    void add(const TraceEvent& event) {
        const size_t used = writing_->used.load(std::memory_order_relaxed);
        if (used < Block::kSize) {
            writing_->events[used] = event;
            writing_->used.store(used + 1, std::memory_order_release);
            return;
        }
        auto* const next = new Block;
        next->events[0] = event;
        next->used.store(1, std::memory_order_relaxed);
        writing_->next.store(next, std::memory_order_release);
        writing_ = next;
    }

    void take(std::vector<TraceEvent>& to) {
        for (;;) {
            // The pointer is read first: a block that has a successor is full.
            Block* const next = reading_->next.load(std::memory_order_acquire);
            const size_t used = reading_->used.load(std::memory_order_acquire);
            for (; taken_ < used; ++taken_) to.push_back(reading_->events[taken_]);
            if (!next) return;
            delete std::exchange(reading_, next);
            taken_ = 0;
        }
    }

private:
    struct Block {
        static constexpr size_t kSize = 256;
        std::array<TraceEvent, kSize> events;
        std::atomic<size_t> used = 0;
        std::atomic<Block*> next = nullptr;
    };

    Block* reading_;  // the reader's
    size_t taken_ = 0;
    Block* writing_;  // the writer's
};

/// The buffers of all threads that have added an event. They live until the process ends.
struct TraceBuffers {
    std::mutex mutex;
    std::vector<std::unique_ptr<TraceBuffer>> all;
};
TraceBuffers& trace_buffers() {
    static auto* const buffers = new TraceBuffers;
    return *buffers;
}

TraceBuffer& own_trace_buffer() {
    thread_local TraceBuffer* const own = [] {
        TraceBuffers& buffers = trace_buffers();
        const std::lock_guard lock(buffers.mutex);
        return buffers.all.emplace_back(std::make_unique<TraceBuffer>()).get();
    }();
    return *own;
}

std::vector<int64_t>& bucket_begins() {
    static auto* const begins = new std::vector<int64_t>;
    return *begins;
}

thread_local int64_t current_bucket = -1;

}  // namespace

void trace_iteration(int64_t t) {
    trace_details::iteration.store(t, std::memory_order_relaxed);
    trace_details::on.store(true, std::memory_order_relaxed);
}

void stop_tracing() { trace_details::on.store(false, std::memory_order_relaxed); }

void add_to_trace(const TraceEvent& event) { own_trace_buffer().add(event); }

std::vector<TraceEvent> take_trace() {
    std::vector<TraceEvent> events;
    TraceBuffers& buffers = trace_buffers();
    const std::lock_guard lock(buffers.mutex);
    for (const auto& buffer : buffers.all) buffer->take(events);
    return events;
}

void set_trace_buckets(std::vector<int64_t> begins) { bucket_begins() = std::move(begins); }

int64_t trace_bucket_of(int64_t column) {
    const std::vector<int64_t>& begins = bucket_begins();
    const auto found =
        std::find_if(begins.begin(), begins.end(), [&](int64_t begin) { return begin <= column; });
    return found == begins.end() ? -1 : found - begins.begin();
}

int64_t current_trace_bucket() { return current_bucket; }

TraceBucketScope::TraceBucketScope(int64_t column) : before_(current_bucket) {
    if (tracing()) current_bucket = trace_bucket_of(column);
}

TraceBucketScope::~TraceBucketScope() { current_bucket = before_; }

void TraceSpan::add() const {
    TraceEvent event;
    event.work = work_;
    event.begin = begin_;
    event.end = now();
    event.iteration = traced_iteration();
    event.replica = replica_;
    event.bucket = bucket_ >= 0 ? bucket_ : current_bucket;
    add_to_trace(event);
}

}  // namespace dbench::base
