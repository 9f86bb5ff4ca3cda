// Tests of queues over streams: marks, memory that is kept alive, and read-only copies.

#include "arena/device/streams.hpp"

#include "arena/device/read_only_array.hpp"
#include "arena/emulated_streams.hpp"
#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

/// A device with two queues, and a row.
struct TestDevice {
    Buffer row = Buffer(DType::float32, 0, 1, 16);  // Must outlive the launches.
    EmulatedDevice emulated;
    EmulatedStreams streams{emulated};
    StreamDevice device{streams, {}, 0};
    std::unique_ptr<Queue> first = device.queue_on(streams.add_stream());
    std::unique_ptr<Queue> second = device.queue_on(streams.add_stream());

    explicit TestDevice(uint64_t seed, bool passes = true) : emulated(seed) {
        streams.set_events_pass(passes);
    }
    float& value() { return row.rows().row<float>(0)[3]; }
    void triple(const std::unique_ptr<Queue>& queue) { scale(row.rows(), {0, 16}, 3, *queue); }
};

TEST_CASE("launches on two streams run in the order that events define") {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        TestDevice bed(seed);
        bed.value() = 1;
        for (int k = 0; k < 4; ++k) {
            bed.triple(bed.first);
            order(*bed.first, *bed.second, "tripled");
            bed.triple(bed.second);
            order(*bed.second, *bed.first, "tripled");
        }
        finish(*bed.first, "all");
        CHECK(bed.value() == 6561);
        CHECK(bed.emulated.conflicts().empty());
    }
}

TEST_CASE("launches without an event between them are reported as unordered") {
    TestDevice bed(1);
    bed.triple(bed.first);
    bed.triple(bed.second);
    CHECK(bed.emulated.conflicts().size() == 1);
}

TEST_CASE("device events are reused, and none is made if nothing was launched") {
    TestDevice bed(2);
    for (int k = 0; k < 1000; ++k) {
        bed.triple(bed.first);
        finish(*bed.first, "one");
        finish(*bed.first, "the same");
        CHECK(bed.first->record().launches == k + 1);
    }
    CHECK(bed.device.events() == 1);
}

TEST_CASE("the host waits with the given function, which may throw") {
    TestDevice bed(3, false);
    bed.triple(bed.first);
    std::vector<std::string> waits;
    bed.first->set_host_wait([&](const std::string& what, const std::function<bool()>& done) {
        waits.push_back(what);
        if (waits.size() == 1) throw base::RunError("too long");
        bed.streams.set_events_pass(true);
        while (!done()) continue;
    });
    CHECK_THROWS_AS(finish(*bed.first, "norms"), base::RunError);
    bed.value() = 1;
    finish(*bed.first, "norms");
    CHECK(bed.value() == 3);
    finish(*bed.first, "norms");  // There is nothing to wait for.
    CHECK(waits == std::vector<std::string>(2, "work on the device (norms)"));
}

TEST_CASE("kept memory is released when earlier launches have run, not before") {
    TestDevice bed(4, false);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> still(memory);
    bed.triple(bed.first);
    keep(*bed.first, std::move(memory));
    keep(*bed.first, std::make_shared<int>(2));
    CHECK(!still.expired());
    bed.streams.set_events_pass(true);
    finish(*bed.first, "all");
    CHECK(still.expired());
    auto more = std::make_shared<int>(3);
    const std::weak_ptr<int> idle(more);
    keep(*bed.first, std::move(more));  // No launch is pending.
    CHECK(idle.expired());
}

TEST_CASE("the destructor of a queue does not free memory that a device may still access") {
    TestDevice bed(5, false);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> still(memory);
    bed.triple(bed.second);
    const Event event = bed.second->record();
    keep(*bed.second, std::move(memory));
    bed.second.reset();
    CHECK(!still.expired());
    bed.first->wait(event, "a queue that has gone");  // The wait queries nothing.
    CHECK(bed.emulated.waits() == 0);
}

TEST_CASE("arrays with equal contents are copied once for all queues and owners") {
    TestDevice bed(6);
    const ReadOnlyArray<int> one = std::vector<int>{1, 2, 3}, other = std::vector<int>{1, 2, 4};
    const int* const there = one.on(*bed.first);
    CHECK(ReadOnlyArray<int>(std::vector<int>{1, 2, 3}).on(*bed.first) == there);
    CHECK(other.on(*bed.first) != there);
    CHECK(bed.device.copies() == 2);
    // The other queue waits for the pending copy.
    CHECK(one.on(*bed.second) == there);
    int seen = 0;
    bed.second->launch({"reads", {}, 1, [&](int64_t, uint64_t) { seen = there[2]; }});
    finish(*bed.second, "read");
    CHECK(seen == 3);
    CHECK(bed.device.copies() == 2);
}

TEST_CASE("a long array is found by address while its owner lives") {
    TestDevice bed(8);
    const std::vector<int> first(1000, 1), second(1000, 2);
    const auto owner = std::make_shared<std::vector<int>>(first);
    const int* const there = readable_on(*bed.first, owner, *owner);
    CHECK(readable_on(*bed.second, owner, *owner) == there);
    CHECK(ReadOnlyArray<int>(first).on(*bed.first) == there);  // Found by its contents.
    CHECK(bed.device.copies() == 1);
    // An array of another owner at this address, and a shorter array, are different arrays.
    *owner = second;
    const std::shared_ptr<const void> other(owner.get(), [](const void*) {});
    const void* const others = bed.first->device_copy(other, owner->data(), 4000);
    CHECK(others != there);
    CHECK(bed.first->device_copy(owner, owner->data(), 3996) != there);
    CHECK(bed.first->device_copy(other, owner->data(), 4000) == others);
    CHECK(bed.device.copies() == 3);
}

TEST_CASE("copies without owners are freed once no launch reads them") {
    TestDevice bed(7);
    const ReadOnlyArray<int> stays = std::vector<int>{-1};
    const int* const there = stays.on(*bed.first);
    int64_t most = 0, wrong = 0;
    for (int k = 0; k < 4000; ++k) {
        const ReadOnlyArray<int> passing = std::vector<int>{k};
        const int* const copy = passing.on(*bed.first);
        bed.first->launch(
            {"reads", {}, 1, [copy, k, &wrong](int64_t, uint64_t) { wrong += *copy != k; }});
        most = std::max(most, bed.streams.copies());
        if (k % 50 == 0) finish(*bed.first, "read");
    }
    finish(*bed.first, "read");
    CHECK(wrong == 0);
    CHECK(most < 1200);
    CHECK(bed.device.copies() == 4001);
    CHECK(stays.on(*bed.first) == there);
    CHECK(bed.device.copies() == 4001);
}

}  // namespace
}  // namespace dbench::arena
