#include <mpi.h>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/collective_checks.hpp"
#include "comm/environment.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/world/long_work.hpp"

namespace {

int communicators = 0;  // number made by this process

}  // namespace

// Counts communicators through MPI's profiling interface: every way to make one calls one of these
// functions.
extern "C" {
int MPI_Comm_dup(MPI_Comm from, MPI_Comm* to) {
    ++communicators;
    return PMPI_Comm_dup(from, to);
}
int MPI_Comm_split(MPI_Comm from, int color, int key, MPI_Comm* to) {
    ++communicators;
    return PMPI_Comm_split(from, color, key, to);
}
int MPI_Comm_split_type(MPI_Comm from, int type, int key, MPI_Info info, MPI_Comm* to) {
    ++communicators;
    return PMPI_Comm_split_type(from, type, key, info, to);
}
int MPI_Comm_create(MPI_Comm from, MPI_Group group, MPI_Comm* to) {
    ++communicators;
    return PMPI_Comm_create(from, group, to);
}
}

namespace dbench::comm::tests {

TEST_CASE("A world has the ranks of MPI_COMM_WORLD") {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    World world{launch()};
    CHECK(world.rank() == rank);
    CHECK(world.size() == size);
    CHECK(world.local_size() == size);  // the tests run on one host
    CHECK(world.local_rank() == rank);
    CHECK(World(alone()).size() == 1);
}

TEST_CASE("Collectives over MPI carry texts of any length") {
    World world{launch()};
    CHECK(check_collectives(world) == "");
}

TEST_CASE("All MPI ranks throw the error of the lowest failing rank") {
    World world{launch()};
    const int last = world.size() - 1;
    const std::string name = last ? "rank " + std::to_string(last) + ": " : "";
    CHECK(agreed(world, {}, true) == "");
    CHECK(agreed(world, {last}, true) == "user: " + name + "broken " + std::to_string(last));
    CHECK(agreed(world, {last, 0}, false) == "run: broken 0");
}

TEST_CASE("The number of communicators does not depend on the exchanges") {
    communicators = 0;
    World world{launch()};
    const int at_start = communicators;
    CHECK(at_start <= 4);
    const arena::Layout layout = awkward_layout();
    const int n = 9;
    for (const DenseSchedule& schedule : all_schedules(n)) {
        const arena::Buffer expected = mixed_alone(schedule, layout, arena::DType::float32);
        CHECK(check_mixing(world, schedule, layout, arena::DType::float32, expected) == "");
    }
    CHECK(communicators == at_start);
}

TEST_CASE("A sleeping rank is named") {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) return;
    const Environment timeout("DBENCH_TIMEOUT", "0.5");
    World world{launch()};
    const int sleeper = world.size() - 1;
    // Longer than the deadline and the two seconds in which a rank may answer questions.
    if (world.rank() == sleeper) std::this_thread::sleep_for(std::chrono::seconds(4));
    try {
        world.barrier();
        FAIL("nobody noticed");
    } catch (const base::RunError& error) {  // as in the program: the other ranks report to rank 0
        if (world.rank() == 0) {
            CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("no answer from rank " +
                                                                        std::to_string(sleeper)));
        } else if (world.rank() != sleeper) {
            world.report_failure(error.what());
        }
    }
}

TEST_CASE("Ranks wait beyond the deadline for long work") {
    MPI_Barrier(MPI_COMM_WORLD);  // a rank may still sleep in the test before this one
    const Environment timeout("DBENCH_TIMEOUT", "1");
    World world{launch()};
    if (world.rank() == world.size() - 1) {
        LongWork work(world);
        for (int part = 0; part < 50; ++part) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            work.progressed();
        }
    }
    world.barrier();
}

TEST_CASE("Rank 0 notices a failed rank at once, even during an exchange") {
    const Environment grace("DBENCH_STOP_TIMEOUT", "1");
    World world{launch()};
    if (world.size() == 1) return;
    const int failing = world.size() - 1;
    arena::Layout layout;
    layout.add("large", {4'000'000}, arena::TensorKind::weight);
    const DenseSchedule ring = circulant(world.size(), {1, -1});
    // Never freed: other ranks may read from it as long as this process exists.
    const auto& x = *new arena::Buffer(arena::DType::float32, world.rank(), 1, layout.columns());
    Exchange exchange(world, {world.size(), world.size()}, layout, &ring, Reduction::reproducible);
    world.barrier();
    if (world.rank() == failing) {
        world.report_failure("no more paper");
        return;
    }
    const Token token = exchange.start_mix({0, true}, x.rows(), layout.all());
    if (world.rank() != 0) {
        world.report_failure("");  // waits for a few seconds
        return;
    }
    const double start = base::now();
    try {
        exchange.finish_mix(token, x.rows());
        FAIL("nobody noticed");
    } catch (const PeerFailure& error) {
        CHECK(base::now() - start < 2);
    }
}

}  // namespace dbench::comm::tests
