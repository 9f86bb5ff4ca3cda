#include "comm/host/host_memory.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/mixing_checks.hpp"

namespace {

int interruptions = 0;  // calls of posix_fallocate that a signal interrupts from now on

}  // namespace

/// Takes the place of the C library's function: kernels differ in when a signal interrupts it.
extern "C" int posix_fallocate(int file, off_t offset, off_t bytes) {
    if (interruptions > 0) {
        --interruptions;
        return EINTR;
    }
    return fallocate(file, 0, offset, bytes) == 0 ? 0 : errno;
}

namespace dbench::comm::tests {
namespace {

/// Runs `part` on two ranks that are threads and can read each other's memory until both have
/// returned.
void check_two(const std::function<std::string(World&, HostMemory&)>& part) {
    for (const std::string& problem : play(2, [&](World& world) {
             HostMemory memory(world);
             const std::string text = part(world, memory);
             world.barrier();
             return text;
         })) {
        CHECK(problem == "");
    }
}

}  // namespace

TEST_CASE("A signal while memory is reserved does not end the reservation") {
    World world{alone()};
    HostMemory memory(world);
    interruptions = 2;
    CHECK_NOTHROW(memory.allocate(int64_t{1} << 20));
    CHECK(interruptions == 0);
}

TEST_CASE("Another rank finds rows that a rank offers, and marks them as read") {
    check_two([](World& world, HostMemory& memory) -> std::string {
        if (!memory.shared() || !memory.obstacle().empty()) return memory.status();
        const int other = 1 - world.rank();
        const arena::Buffer mine(arena::DType::float64, world.rank(), 1, 64,
                                 [&](int64_t bytes) { return memory.allocate(bytes); });
        const arena::Buffer elsewhere(arena::DType::float64, world.rank(), 1, 64);
        if (!memory.holds(mine.rows().data)) return "its own memory is not known";
        if (memory.holds(elsewhere.rows().data)) return "other memory is taken for its own";
        set(mine.rows(), 0, 5, 100.0 + world.rank());
        const uint64_t number = memory.next().value();
        if (memory.rows_of(other, number + 1)) return "rows are seen before they are offered";
        const auto in_place = memory.offer(number, {mine.rows().at(0, 5), 8});
        world.barrier();
        const auto theirs = memory.rows_of(other, number);
        if (!theirs) return "offered rows are not seen";
        const auto value = [](const char* at) { return *reinterpret_cast<const double*>(at); };
        if (value(theirs->data) != 100.0 + other) return "other rows are seen";
        if (value(theirs->at(1)) != 0) return "the next row is not a stride further";
        if (memory.means_of(other, number)) return "means are seen before they are offered";
        world.barrier();
        const auto made = memory.offer_means(number, {mine.rows().at(0, 6), 0});
        world.barrier();
        const auto means = memory.means_of(other, number);
        if (!means || value(means->data) != 0) return "offered means are not seen";
        if (memory.has_read(other, number) && world.rank() == 1) return "nobody has read yet";
        world.barrier();
        memory.mark_read(number);
        world.barrier();
        return memory.has_read(other, number) ? "" : "having read is not seen";
    });
}

TEST_CASE("Large rows begin at a huge page and are complete") {
    check_two([](World& world, HostMemory& memory) -> std::string {
        constexpr int64_t kBytes = (5 << 20) + 1, kHugePage = 2 << 20;
        const auto rows = memory.allocate(kBytes), few = memory.allocate(100);
        char* const data = static_cast<char*>(rows.get());
        if (reinterpret_cast<uintptr_t>(data) % kHugePage != 0) return "they begin elsewhere";
        if (std::count(data, data + kBytes, '\0') != kBytes) return "they are not zero";
        if (!memory.holds(data + kBytes - 1)) return "their end is not known";
        data[kBytes - 1] = static_cast<char>(1 + world.rank());
        const uint64_t number = memory.next().value();
        const auto in_place = memory.offer(number, {data, 0});
        world.barrier();
        const auto theirs = memory.rows_of(1 - world.rank(), number);
        const bool seen = theirs && theirs->data[kBytes - 1] == 2 - world.rank();
        world.barrier();  // both ranks' memory must exist until here
        return seen ? "" : "others see else";
    });
}

TEST_CASE("Numbers run out if none is released, and become free again") {
    check_two([](World&, HostMemory& memory) -> std::string {
        uint64_t given = 0;
        while (memory.next()) ++given;
        if (given != 4096) return std::to_string(given) + " numbers";
        memory.release(0);
        const auto next = memory.next();
        if (!next || *next != 4096) return "an entry that was given back is not used";
        return memory.next() ? "entry 1 is still in use" : "";
    });
}

TEST_CASE("Exchanges use messages after the numbers have run out") {
    const arena::Layout layout = awkward_layout();
    const DenseSchedule ring = circulant(2, {1});
    const arena::Buffer expected = mixed_alone(ring, layout, arena::DType::float32);
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             Exchange exchange(world, {2, 2}, layout, &ring, Reduction::reproducible);
             const arena::Buffer start = replicas(layout, arena::DType::float32, world.rank(), 1);
             const arena::Buffer x = peer_readable(exchange, start.rows());
             const arena::Buffer out(arena::DType::float32, world.rank(), 1, layout.columns());
             arena::copy(start.rows(), x.rows(), layout.all());
             std::vector<Token> never_reclaimed;
             std::string problems;
             for (int k = 0; k < 4100; ++k) {
                 const bool last = k + 4 >= 4100;
                 const arena::Columns columns = last ? layout.all() : arena::Columns{0, 16};
                 never_reclaimed.push_back(exchange.start_mix({0, true}, x.rows(), columns,
                                                              RowLifetime::until_reclaimed));
                 exchange.finish_mix(never_reclaimed.back(), out.rows());
                 if (last) problems += difference(out.rows(), expected.rows(), layout.columns());
             }
             return problems;
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("Reading in place can be switched off") {
    const Environment off("DBENCH_READ_IN_PLACE", "0");
    check_two([](World& world, HostMemory& memory) {
        if (memory.status() != "as messages (DBENCH_READ_IN_PLACE=0)" && world.local_size() > 1) {
            return memory.status();
        }
        return std::string(memory.shared() || memory.shares_with(1 - world.rank()) ? "it is on"
                                                                                   : "");
    });
}

TEST_CASE("Wrong settings and missing memory are refused with a remedy") {
    using Catch::Matchers::ContainsSubstring;
    {
        const Environment odd("DBENCH_READ_IN_PLACE", "perhaps");
        for (const std::string& problem : play(2, [](World& world) -> std::string {
                 HostMemory memory(world);
                 return "";
             })) {
            CHECK_THAT(problem, ContainsSubstring("DBENCH_READ_IN_PLACE=perhaps") &&
                                    ContainsSubstring("0 (messages everywhere)"));
        }
    }
    World world{alone()};
    HostMemory memory(world);
    CHECK_THROWS_AS(memory.allocate(int64_t{1} << 60), base::UserError);
    CHECK_FALSE(memory.shared());
    CHECK(memory.obstacle() == "");
}

}  // namespace dbench::comm::tests
