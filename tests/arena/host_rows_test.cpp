// Tests of HostRows: host access to rows in any memory space.

#include "arena/device/host_rows.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "arena/emulated_device.hpp"
#include "arena/kernels.hpp"
#include "arena/seen_memory.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

using State = HostRows::State;

constexpr int64_t kHostRowsColumns = 2000;
constexpr Columns kAll{0, kHostRowsColumns};

std::vector<double> row_of(const Rows& rows, int64_t local) {
    const double* const row = rows.row<double>(local);
    return {row, row + kHostRowsColumns};
}
std::vector<double> of_all(double value) { return std::vector<double>(kHostRowsColumns, value); }

TEST_CASE("the host reads rows of a device after the queue's launches, and writes them back") {
    const Space space = GENERATE(Space::host, Space::device);
    const uint64_t seed = GENERATE(1, 2, 3);
    const auto pace = GENERATE(EmulatedDevice::Pace::late, EmulatedDevice::Pace::random);
    const SeenMemory memory(space);
    EmulatedDevice device(seed, -1, pace);
    device.set_visible_memory(memory);
    Queue& queue = device.add_queue();
    const Buffer x = memory.memories().rows(DType::float64, 3, 2, kHostRowsColumns);
    const Buffer y = memory.memories().rows(DType::float64, 3, 2, kHostRowsColumns);
    REQUIRE(x.rows().space == space);
    {
        HostRows host(x.rows(), queue, "", State::replaced);
        CHECK((host.rows().data == x.rows().data) == (space == Space::host));
        CHECK((host.rows().first == 3 && host.rows().count == 2));
        for (int64_t i = 0; i < 2; ++i)
            std::fill_n(host.rows().row<double>(i), kHostRowsColumns, 1.5);
        host.write_back();
    }
    scale(x.rows(), kAll, 2, queue);
    {
        HostRows host(x.rows().only(1), queue, "rows that are read");
        CHECK(host.rows().first == 4);
        CHECK(row_of(host.rows(), 0) == of_all(3));
        std::fill_n(host.rows().row<double>(0), kHostRowsColumns, 4);
        host.write_back();
    }
    copy(x.rows(), y.rows(), kAll, queue);
    finish(queue, "rows that are compared");
    const HostRows host(y.rows(), queue, "rows that are compared", State::settled);
    CHECK(row_of(host.rows(), 0) == of_all(3));
    CHECK(row_of(host.rows(), 1) == of_all(4));
    CHECK(device.conflicts() == std::vector<std::string>());
}

TEST_CASE("without a wait the copy has old contents") {
    for (const State state : {State::computed, State::settled}) {
        const SeenMemory memory(Space::device);
        EmulatedDevice device(1);
        device.set_memories(memory.memories());
        device.omit_wait("rows that are read");
        Queue& queue = device.add_queue();
        const Buffer x = memory.memories().rows(DType::float64, 0, 1, kHostRowsColumns);
        HostRows host(x.rows(), queue, "", State::replaced);
        std::fill_n(host.rows().row<double>(0), kHostRowsColumns, 1.5);
        host.write_back();
        finish(queue, "rows that are filled");
        const HostRows read(x.rows(), queue, "rows that are read", state);
        CHECK(row_of(read.rows(), 0) == of_all(0));
        finish(queue, "the end");
    }
}

TEST_CASE("rows of the host need no device's queue, and rows of a device need one") {
    const Buffer x(DType::float64, 0, 1, kHostRowsColumns);
    HostRows host(x.rows(), host_queue(), "rows that are read");
    CHECK(host.rows().data == x.rows().data);
    host.write_back();
    const SeenMemory memory(Space::device);
    const Buffer there = memory.memories().rows(DType::float64, 0, 1, kHostRowsColumns);
    CHECK_THROWS(HostRows(there.rows(), host_queue(), "rows that are read"));
    // Host-visible memory is used for rows that the host itself accesses.
    const Buffer reached =
        memory.memories().host_visible_rows(DType::float64, 0, 1, kHostRowsColumns);
    CHECK(reached.rows().space == Space::host);
    CHECK(memory.holds(writes(reached.rows(), kAll)));
}

TEST_CASE("a row is filled from any memory, in parts if it is long") {
    const Space space = GENERATE(Space::host, Space::device);
    const int64_t count = (int64_t{1} << 22) / 4 * 2 + 37;  // float32 elements of two parts and a
                                                            // rest.
    const SeenMemory memory(space);
    EmulatedDevice device(1);
    device.set_visible_memory(memory);
    Queue& queue = device.add_queue();
    std::vector<float> from(static_cast<size_t>(count));
    std::iota(from.begin(), from.end(), 1.0f);
    const Buffer x = memory.memories().rows(DType::float32, 0, 1, count + 16);
    fill(x.rows(), from.data(), count * 4, queue);
    const std::vector<float> expected = from;
    std::fill(from.begin(), from.end(), 0.0f);
    const HostRows host(x.rows(), queue, "rows that are compared");
    const float* const row = host.rows().row<float>(0);
    CHECK(std::equal(expected.begin(), expected.end(), row));
    CHECK(std::all_of(row + count, row + count + 16, [](float v) { return v == 0; }));
    CHECK(device.conflicts() == std::vector<std::string>());
}

}  // namespace
}  // namespace dbench::arena
