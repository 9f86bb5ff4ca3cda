#include "comm/world/world.hpp"

#include "arena/idle_queue.hpp"
#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/collective_checks.hpp"
#include "comm/environment.hpp"
#include "comm/world/long_work.hpp"

namespace dbench::comm::tests {
namespace {

/// Returns the error of a barrier that stalls.
std::string stall_of_barrier(World& world) {
    try {
        world.barrier();
    } catch (const Stalled& error) {
        return error.what();
    }
    return "no error";
}

/// Removes the variables of all launchers, whatever started the tests.
struct Unlaunched {
    Environment variables[10] = {{"OMPI_COMM_WORLD_SIZE", nullptr},
                                 {"MPI_LOCALNRANKS", nullptr},
                                 {"MV2_COMM_WORLD_SIZE", nullptr},
                                 {"PMIX_RANK", nullptr},
                                 {"PMI_RANK", nullptr},
                                 {"PMI_SIZE", nullptr},
                                 {"PMI_FD", nullptr},
                                 {"SLURM_JOB_ID", nullptr},
                                 {"SLURM_STEP_NUM_TASKS", nullptr},
                                 {"SLURM_PROCID", nullptr}};
};

}  // namespace

TEST_CASE("launched_by_mpi recognizes the environment of MPI launchers") {
    const Unlaunched unlaunched;
    CHECK_FALSE(launched_by_mpi());
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE"}) {
        const Environment launched(name, "1");
        CHECK(launched_by_mpi());
    }
    const Environment pmi("PMI_RANK", "0");
    CHECK(launched_by_mpi());
    const Environment one_task("SLURM_STEP_NUM_TASKS", "1");
    CHECK_FALSE(launched_by_mpi());
}

TEST_CASE("Processes that no launcher connected are refused with a remedy") {
    const Unlaunched unlaunched;
    const auto refusal = [] {
        try {
            launch();
        } catch (const Unconnected& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const Environment job("SLURM_JOB_ID", "7");
    const Environment task("SLURM_PROCID", "0");
    const Environment tasks("SLURM_STEP_NUM_TASKS", "4");
    CHECK_THAT(refusal(), Catch::Matchers::ContainsSubstring("SLURM_STEP_NUM_TASKS=4") &&
                              Catch::Matchers::ContainsSubstring("srun --mpi="));
}

TEST_CASE("Each MPI library has its choice of srun --mpi") {
    CHECK(srun_plugin("Open MPI v4.1.4") == "pmix");
    CHECK(srun_plugin("MPICH Version: 5.0.2") == "pmi2");
    CHECK(srun_plugin("MPI VERSION    : CRAY MPICH version 8.1.28.17 (ANL base 3.4a2)") ==
          "cray_shasta");
}

TEST_CASE("Without a launcher a process is a world of one rank") {
    const Unlaunched unlaunched;
    World world{launch()};
    CHECK(world.rank() == 0);
    CHECK(world.size() == 1);
    CHECK(world.local_rank() == 0);
    CHECK(world.local_size() == 1);
    CHECK_FALSE(world.host().empty());
    CHECK(check_collectives(world) == "");
    CHECK_NOTHROW(world.check_failures());
}

TEST_CASE("DBENCH_TIMEOUT must be a number of seconds") {
    for (const char* bad : {"soon", "-1", "0", "3s", "nan", "0x10", "inf", " 5", "2,5"}) {
        const Environment variable("DBENCH_TIMEOUT", bad);
        CHECK_THROWS_AS(World(alone()), base::UserError);
    }
    {
        const Environment variable("DBENCH_TIMEOUT", "2.5");
        CHECK(World(alone()).deadline() == 2.5);
    }
    const Environment variable("DBENCH_TIMEOUT", nullptr);
    CHECK(World(alone()).deadline() == 600);
}

TEST_CASE("Collectives carry texts of any length") {
    for (int ranks = 1; ranks <= 7; ++ranks) {
        for (const std::string& problem : play(ranks, check_collectives)) CHECK(problem == "");
    }
}

TEST_CASE("All ranks throw the error of the lowest failing rank, or none throws") {
    const auto outcome = [](const std::vector<int>& failing, bool user) {
        return play(4, [&](World& world) { return agreed(world, failing, user); });
    };
    CHECK(outcome({}, true) == std::vector<std::string>(4, ""));
    CHECK(outcome({0}, true) == std::vector<std::string>(4, "user: broken 0"));
    CHECK(outcome({3, 2}, false) == std::vector<std::string>(4, "run: rank 2: broken 2"));
}

TEST_CASE("A wait that exceeds its deadline names its purpose and the awaited ranks") {
    const Environment timeout("DBENCH_TIMEOUT", "0.2");
    const auto outcome = play(3, [](World& world) -> std::string {
        if (world.rank() == 2) {  // neither notices the failure nor answers
            std::this_thread::sleep_for(std::chrono::seconds(3));
            world.report_failure("overslept");
            return "";
        }
        return stall_of_barrier(world);
    });
    CHECK_THAT(outcome[0], Catch::Matchers::ContainsSubstring("barrier") &&
                               Catch::Matchers::ContainsSubstring("rank 2 within 0.2"));
}

TEST_CASE("Ranks wait beyond the deadline for a rank whose long work makes progress") {
    const Environment timeout("DBENCH_TIMEOUT", "1");
    const auto outcome = play(3, [](World& world) -> std::string {
        if (world.rank() == 2) {  // for longer than the deadline and the time to answer questions
            LongWork work(world);
            for (int part = 0; part < 70; ++part) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                work.progressed();
            }
        }
        world.barrier();
        return "";
    });
    CHECK(outcome == std::vector<std::string>(3, ""));
}

TEST_CASE("A rank that hangs in its long work is named") {
    const Environment timeout("DBENCH_TIMEOUT", "1");
    const auto outcome = play(3, [](World& world) -> std::string {
        if (world.rank() == 2) {
            LongWork work(world);
            for (int part = 0; part < 20; ++part) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                work.progressed();
            }
            std::this_thread::sleep_for(std::chrono::seconds(4));
            world.report_failure("overslept");
            return "";
        }
        return stall_of_barrier(world);
    });
    CHECK_THAT(outcome[0], Catch::Matchers::ContainsSubstring("no answer from rank 2 within 1"));
}

TEST_CASE("A rank that makes progress in long work notices a failure") {
    const Environment grace("DBENCH_STOP_TIMEOUT", "1");
    const auto outcome = play(2, [](World& world) -> std::string {
        if (world.rank() == 1) {
            world.report_failure("its memory is full");
            return "";
        }
        LongWork work(world);
        try {
            for (const double start = base::now(); base::now() - start < 20;) work.progressed();
        } catch (const PeerFailure& error) {
            return error.what();
        }
        return "no error";
    });
    CHECK(outcome[0] == "rank 1 failed: its memory is full");
}

TEST_CASE("Rank 0 notices a failure in every kind of wait") {
    const Environment grace("DBENCH_STOP_TIMEOUT", "1");
    const auto outcome = play(3, [](World& world) -> std::string {
        if (world.rank() == 1) {
            world.report_failure("the disk is on fire");
            return "";
        }
        if (world.rank() == 2) {  // neither notices the failure nor answers
            std::this_thread::sleep_for(std::chrono::seconds(1));
            world.report_failure("");
            return "";
        }
        const double start = base::now();
        try {
            world.barrier();
        } catch (const PeerFailure& error) {
            return error.what() + std::string(base::now() - start < 1 ? "" : ", too late");
        }
        return "no error";
    });
    CHECK(outcome[0] == "rank 1 failed: the disk is on fire");
}

namespace {

/// A queue that records the wait function that it is given.
struct Patient : arena::IdleQueue {
    arena::HostWait patience;
    void set_host_wait(arena::HostWait given) override { patience = std::move(given); }
};

}  // namespace

TEST_CASE("Waits for queues have the world's deadline, in any thread") {
    const Unlaunched unlaunched;
    const Environment timeout("DBENCH_TIMEOUT", "0.1");
    Patient compute, exchange;
    {
        World world{launch()};
        CHECK(world.place().immediate());
        world.compute_on({compute, exchange});
        CHECK((&world.place().compute() == &compute && &world.place().exchange() == &exchange));
        int looks = 0;
        compute.patience("work", [&] { return ++looks == 5; });
        CHECK(looks == 5);
        const auto stalls = [&](const arena::HostWait& patience) -> std::string {
            try {
                patience("work on the device (norms)", [] { return false; });
            } catch (const Stalled& error) {
                return error.what();
            }
            return "no error";
        };
        std::string elsewhere;
        std::thread([&] { elsewhere = stalls(exchange.patience); }).join();
        for (const std::string& text : {stalls(compute.patience), elsewhere}) {
            CHECK_THAT(text, Catch::Matchers::ContainsSubstring("work on the device (norms)") &&
                                 Catch::Matchers::ContainsSubstring("rank 0 within 0.1 s"));
        }
    }
    CHECK((!compute.patience && !exchange.patience));  // the queues no longer refer to the world
}

TEST_CASE("Rank 0 notices a failed rank while it waits for its device") {
    const Environment grace("DBENCH_STOP_TIMEOUT", "1");
    const auto outcome = play(2, [](World& world) -> std::string {
        if (world.rank() == 1) {
            world.report_failure("its card is gone");
            return "";
        }
        Patient queue;
        world.compute_on({queue, queue});
        std::string heard = "no error";
        try {
            queue.patience("work on the device (norms)", [] { return false; });
        } catch (const PeerFailure& error) {
            heard = error.what();
        }
        world.compute_on(arena::host_place());
        return heard;
    });
    CHECK(outcome[0] == "rank 1 failed: its card is gone");
}

}  // namespace dbench::comm::tests
