// Tests of the memory of devices.

#include "arena/device/memory.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "arena/emulated_device.hpp"
#include "arena/kernels.hpp"
#include "arena/random_rows.hpp"
#include "arena/seen_memory.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

bool at_line(const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

TEST_CASE("rows and values are in the memory that makes them, and return to it") {
    HostVisibleArray<double> before = host_memories().values(100, 1.5);
    const Buffer rows_before(DType::float32, 0, 2, 16);
    std::optional<SeenMemory> memory(std::in_place);
    const Buffer rows = memory->memories().rows(DType::float32, 0, 2, 16);
    HostVisibleArray<double> values = memory->memories().values(100, 2.5);
    CHECK(memory->holds(writes(rows.rows(), {0, 16})));
    CHECK(memory->holds(writes(values.data(), 800)));
    CHECK(!memory->holds(writes(values.data(), 801)));
    CHECK(!memory->holds(writes(before.data(), 8)));
    CHECK(!memory->holds(writes(rows_before.rows(), {0, 16})));
    CHECK((at_line(before.data()) && at_line(values.data()) && at_line(rows.rows().data)));
    // An assignment takes the memory over, and a moved-from array keeps its own.
    const Access gone = writes(values.data(), 8);
    HostVisibleArray<double> other = std::move(values);
    CHECK(memory->holds(writes(other.data(), 800)));
    values.assign(1000, 3.5);
    CHECK(memory->holds(writes(values.data(), 8000)));
    before = std::move(values);
    before.resize(2000, 4.5);
    CHECK(memory->holds(writes(before.data(), 16000)));
    CHECK((before[999] == 3.5 && before[1999] == 4.5));
    other = host_memories().values(1, 0.5);
    CHECK(!memory->holds(gone));
    // Arrays may outlive the object that made them.
    memory.reset();
    before.resize(4000, 5.5);
    CHECK((before[1999] == 4.5 && before[3999] == 5.5));
}

TEST_CASE("values and rows may use different memory") {
    int64_t bytes = 0;
    const auto counted = [&](int64_t wanted) {
        bytes += wanted;
        return std::shared_ptr<void>(std::aligned_alloc(64, (wanted + 63) / 64 * 64), std::free);
    };
    const Memories memories([](int64_t) -> std::shared_ptr<void> { throw std::bad_alloc(); },
                            counted, Space::device);
    CHECK_THROWS_AS(memories.rows(DType::float32, 0, 1, 16), std::bad_alloc);
    const auto values = memories.values<float>(16);
    CHECK(bytes == 64 + 64);
}

TEST_CASE(
    "a launch on memory that the device cannot see is reported, also if the memory was freed "
    "before it runs") {
    const Layout layout = ragged_layout();
    std::vector<double> elsewhere(layout.segments().size());
    const SeenMemory memory;
    EmulatedDevice device(1);
    device.set_visible_memory(memory);
    Queue& queue = device.add_queue();
    Buffer rows = random_rows(layout, DType::float32, 1, 1, 0, memory.memories());
    auto sums = memory.memories().values<double>(layout.segments().size());
    squares(layout, rows.rows(), layout.all(), sums.data(), queue);
    CHECK(device.conflicts().empty());
    finish(queue, "seen");
    squares(layout, rows.rows(), layout.all(), elsewhere.data(), queue);
    using Found = std::vector<std::string>;
    CHECK(device.conflicts() ==
          Found{"squares (queue 0, launch 1) accesses memory that the device cannot see"});
    finish(queue, "unseen");
    queue.launch({"noted", {reads(rows.rows(), layout.all())}, 0});
    rows = Buffer();
    finish(queue, "gone");
    CHECK(device.conflicts().back() == "noted (queue 0, launch 2) runs after its memory was freed");
}

}  // namespace
}  // namespace dbench::arena
