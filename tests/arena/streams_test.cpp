// Queues over streams: marks, memory that is kept, copies of what is placed.

#include "arena/device/streams.hpp"

#include "arena/device/placed.hpp"
#include "arena/emulated_streams.hpp"
#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

/// A device with two queues, and a row.
struct Bed {
    Buffer row = Buffer(DType::float32, 0, 1, 16);  // outlives what is launched
    EmulatedDevice emulated;
    EmulatedStreams streams{emulated};
    StreamDevice device{streams, 0};
    std::unique_ptr<Queue> first = device.queue_on(streams.add_stream());
    std::unique_ptr<Queue> second = device.queue_on(streams.add_stream());

    explicit Bed(uint64_t seed, bool passes = true) : emulated(seed) { streams.let_pass(passes); }
    float& value() { return row.rows().row<float>(0)[3]; }
    void triple(const std::unique_ptr<Queue>& queue) { scale(row.rows(), {0, 16}, 3, queue.get()); }
};

TEST_CASE("launches on two streams come in the order that events give them") {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        Bed bed(seed);
        bed.value() = 1;
        for (int k = 0; k < 4; ++k) {
            bed.triple(bed.first);
            order(bed.first.get(), bed.second.get(), "tripled");
            bed.triple(bed.second);
            order(bed.second.get(), bed.first.get(), "tripled");
        }
        finish(bed.first.get(), "all");
        CHECK(bed.value() == 6561);
        CHECK(bed.emulated.conflicts().empty());
    }
}

TEST_CASE("what nobody ordered is in no order") {
    Bed bed(1);
    bed.triple(bed.first);
    bed.triple(bed.second);
    CHECK(bed.emulated.conflicts().size() == 1);
}

TEST_CASE("events are used again, and none is made where nothing was launched") {
    Bed bed(2);
    for (int k = 0; k < 1000; ++k) {
        bed.triple(bed.first);
        finish(bed.first.get(), "one");
        finish(bed.first.get(), "the same");
        CHECK(bed.first->record().launches == k + 1);
    }
    CHECK(bed.device.events() == 1);
}

TEST_CASE("the host waits as it was told to, and may be told to give up") {
    Bed bed(3, false);
    bed.triple(bed.first);
    std::vector<std::string> waits;
    bed.first->wait_by([&](const std::string& what, const std::function<bool()>& done) {
        waits.push_back(what);
        if (waits.size() == 1) throw base::RunError("too long");
        bed.streams.let_pass(true);
        while (!done()) continue;
    });
    CHECK_THROWS_AS(finish(bed.first.get(), "norms"), base::RunError);
    bed.value() = 1;
    finish(bed.first.get(), "norms");
    CHECK(bed.value() == 3);
    finish(bed.first.get(), "norms");  // has nothing to wait for
    CHECK(waits == std::vector<std::string>(2, "work on the device (norms)"));
}

TEST_CASE("kept memory goes when what was launched before has run, not earlier") {
    Bed bed(4, false);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> still(memory);
    bed.triple(bed.first);
    keep(bed.first.get(), std::move(memory));
    keep(bed.first.get(), std::make_shared<int>(2));
    CHECK(!still.expired());
    bed.streams.let_pass(true);
    finish(bed.first.get(), "all");
    CHECK(still.expired());
    auto more = std::make_shared<int>(3);
    const std::weak_ptr<int> idle(more);
    keep(bed.first.get(), std::move(more));  // nothing is under way
    CHECK(idle.expired());
}

TEST_CASE("a queue that goes leaves alone what a device may still touch") {
    Bed bed(5, false);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> still(memory);
    bed.triple(bed.second);
    const Event event = bed.second->record();
    keep(bed.second.get(), std::move(memory));
    bed.second.reset();
    CHECK(!still.expired());
    bed.first->wait(event, "a queue that has gone");  // asks for nothing
    CHECK(bed.emulated.waits() == 0);
}

TEST_CASE("what says the same is copied once, for all queues, whoever owns it") {
    Bed bed(6);
    const Placed<int> one = std::vector<int>{1, 2, 3}, other = std::vector<int>{1, 2, 4};
    const int* const there = one.on(bed.first.get());
    CHECK(Placed<int>(std::vector<int>{1, 2, 3}).on(bed.first.get()) == there);
    CHECK(other.on(bed.first.get()) != there);
    CHECK(bed.device.copies() == 2);
    // Another queue waits for the copy, which is under way.
    CHECK(one.on(bed.second.get()) == there);
    int seen = 0;
    bed.second->launch({"reads", {}, 1, [&](int64_t, uint64_t) { seen = there[2]; }});
    finish(bed.second.get(), "read");
    CHECK(seen == 3);
    CHECK(bed.device.copies() == 2);
}

TEST_CASE("a long array is found where it is, as long as it is the same") {
    Bed bed(8);
    const std::vector<int> first(1000, 1), second(1000, 2);
    const auto owner = std::make_shared<std::vector<int>>(first);
    const int* const there = placed(bed.first.get(), owner, *owner);
    CHECK(placed(bed.second.get(), owner, *owner) == there);
    CHECK(Placed<int>(first).on(bed.first.get()) == there);  // by what it holds
    CHECK(bed.device.copies() == 1);
    // Another's array at that place is not it, nor is a shorter one.
    *owner = second;
    const std::shared_ptr<const void> other(owner.get(), [](const void*) {});
    const void* const others = bed.first->place(other, owner->data(), 4000);
    CHECK(others != there);
    CHECK(bed.first->place(owner, owner->data(), 3996) != there);
    CHECK(bed.first->place(other, owner->data(), 4000) == others);
    CHECK(bed.device.copies() == 3);
}

TEST_CASE("copies that nobody owns make room, once nothing reads them") {
    Bed bed(7);
    const Placed<int> stays = std::vector<int>{-1};
    const int* const there = stays.on(bed.first.get());
    int64_t most = 0, wrong = 0;
    for (int k = 0; k < 4000; ++k) {
        const Placed<int> passing = std::vector<int>{k};
        const int* const copy = passing.on(bed.first.get());
        bed.first->launch(
            {"reads", {}, 1, [copy, k, &wrong](int64_t, uint64_t) { wrong += *copy != k; }});
        most = std::max(most, bed.streams.copies());
        if (k % 50 == 0) finish(bed.first.get(), "read");
    }
    finish(bed.first.get(), "read");
    CHECK(wrong == 0);
    CHECK(most < 1200);
    CHECK(bed.device.copies() == 4001);
    CHECK(stays.on(bed.first.get()) == there);
    CHECK(bed.device.copies() == 4001);
}

}  // namespace
}  // namespace dbench::arena
