// Tests of the default allocators of rows and values.

#include "arena/device/memory.hpp"

#include <cstdint>
#include <optional>

#include "arena/emulated_device.hpp"
#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "arena/seen_memory.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

bool at_line(const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

TEST_CASE("rows and values use the default memory of the time of their creation") {
    HostVisibleArray<double> before(100, 1.5);
    const Buffer rows_before(DType::float32, 0, 2, 16);
    std::optional<SeenMemory> memory(std::in_place);
    const Buffer rows(DType::float32, 0, 2, 16);
    HostVisibleArray<double> values(100, 2.5);
    CHECK(memory->holds(writes(rows.rows(), {0, 16})));
    CHECK(memory->holds(writes(values.data(), 800)));
    CHECK(!memory->holds(writes(values.data(), 801)));
    CHECK(!memory->holds(writes(before.data(), 8)));
    CHECK(!memory->holds(writes(rows_before.rows(), {0, 16})));
    CHECK((at_line(before.data()) && at_line(values.data()) && at_line(rows.rows().data)));
    // Each block returns to the allocator that it came from, whatever the default is then.
    const Access gone = writes(values.data(), 8);
    before.resize(1000, 3.5);
    CHECK(memory->holds(writes(before.data(), 8000)));
    CHECK((before[99] == 1.5 && before[999] == 3.5));
    HostVisibleArray<double>().swap(values);
    CHECK(!memory->holds(gone));
    memory.reset();
    CHECK(!default_row_memory());
    before.resize(2000, 4.5);
    CHECK((before[99] == 1.5 && before[1999] == 4.5));
}

TEST_CASE("values and rows may use different memory") {
    int64_t bytes = 0;
    const auto counted = [&](int64_t wanted) {
        bytes += wanted;
        return std::shared_ptr<void>(std::aligned_alloc(64, (wanted + 63) / 64 * 64), std::free);
    };
    set_default_memory([](int64_t) -> std::shared_ptr<void> { throw std::bad_alloc(); }, counted);
    CHECK_THROWS_AS(Buffer(DType::float32, 0, 1, 16), std::bad_alloc);
    const HostVisibleArray<float> values(16);
    CHECK(bytes == 64 + 64);
    set_default_memory(nullptr);
}

TEST_CASE(
    "a launch on memory that the device cannot see is reported, also if the memory was freed "
    "before it runs") {
    const Layout layout = ragged_layout();
    std::vector<double> elsewhere(layout.segments().size());
    const SeenMemory memory;
    EmulatedDevice device(1);
    device.set_visible_memory(memory);
    Queue* const queue = device.add_queue();
    Buffer rows = random_rows(layout, DType::float32, 1, 1);
    HostVisibleArray<double> sums(layout.segments().size());
    squares(layout, rows.rows(), layout.all(), sums.data(), queue);
    CHECK(device.conflicts().empty());
    finish(queue, "seen");
    squares(layout, rows.rows(), layout.all(), elsewhere.data(), queue);
    using Found = std::vector<std::string>;
    CHECK(device.conflicts() ==
          Found{"squares (queue 0, launch 1) accesses memory that the device cannot see"});
    finish(queue, "unseen");
    queue->launch({"noted", {reads(rows.rows(), layout.all())}, 0});
    rows = Buffer();
    finish(queue, "gone");
    CHECK(device.conflicts().back() == "noted (queue 0, launch 2) runs after its memory was freed");
}

}  // namespace
}  // namespace dbench::arena
