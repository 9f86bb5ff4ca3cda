#include "arena/device/queue.hpp"

#include <algorithm>
#include <atomic>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

/// A timestamp of the host's clock.
class HostTimestamp final : public Timestamp {
public:
    void now() { at_ = base::now(); }
    double since(const Timestamp& other) const override {
        const double before = static_cast<const HostTimestamp&>(other).at_;
        DBENCH_EXPECT(at_ >= 0 && before >= 0);
        return at_ - before;
    }

private:
    std::atomic<double> at_ = -1;  // Negative until the launch has run.
};

/// The queue of the host (host_queue).
class HostQueue final : public Queue {
public:
    HostQueue() : Queue(host_memories(), Kind::immediate) {}
    void launch(Launch launch) override {
        for (int64_t block = 0; block < launch.blocks; ++block) launch.run(block, 0);
    }
    Event record() override { return {0, 0}; }
    void wait(Event, const char*) override {}
    void finish(Event, const char*) override {}
    void keep(std::shared_ptr<const void>) override {}
    const void* device_copy(const std::shared_ptr<const void>&, const void* data,
                            int64_t) override {
        return data;
    }
};

Access access(Rows rows, Columns columns, bool writes) {
    const int64_t element = size_of(rows.type);
    return {rows.at(0, columns.begin), rows.count, rows.stride * element,
            std::max<int64_t>(columns.count(), 0) * element, writes};
}

}  // namespace

Access reads(Rows rows, Columns columns) { return access(rows, columns, false); }
Access writes(Rows rows, Columns columns) { return access(rows, columns, true); }
Access reads(const void* data, int64_t bytes) { return {data, 1, bytes, bytes, false}; }
Access writes(const void* data, int64_t bytes) { return {data, 1, bytes, bytes, true}; }

Queue& host_queue() {
    static HostQueue queue;
    return queue;
}

std::shared_ptr<const Timestamp> Queue::timestamp() {
    const auto timestamp = std::make_shared<HostTimestamp>();
    launch({"the time", {}, 1, [timestamp](int64_t, uint64_t) { timestamp->now(); }});
    return timestamp;
}

/// Both accesses list their pieces by increasing address, so one pass over both finds an overlap.
bool overlap(const Access& a, const Access& b) {
    if (a.bytes == 0 || b.bytes == 0) return false;
    const auto start = [](const Access& of, int64_t row) {
        return reinterpret_cast<uintptr_t>(of.data) + static_cast<uintptr_t>(row * of.stride);
    };
    int64_t i = 0, j = 0;
    while (i < a.rows && j < b.rows) {
        const uintptr_t begin = start(a, i), other = start(b, j);
        if (begin + static_cast<uintptr_t>(a.bytes) <= other) {
            ++i;
        } else if (other + static_cast<uintptr_t>(b.bytes) <= begin) {
            ++j;
        } else {
            return true;
        }
    }
    return false;
}

}  // namespace dbench::arena
