// Rows over NCCL that do not arrive: ranks that stop or are blocked in a call, and a communicator
// that fails.

#include <atomic>

#include "arena/emulated_device.hpp"
#include "base/error.hpp"
#include "base/in_child.hpp"
#include "catch.hpp"
#include "comm/forwarding_transports.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/nccl/stall_watch.hpp"
#include "comm/nccl_ranks.hpp"
#include "comm/nccl_talk.hpp"

namespace dbench::comm::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Blocks without checking a deadline, like a launch on a stream that is full.
void block_in_a_call() { std::this_thread::sleep_for(std::chrono::seconds(60)); }

}  // namespace

TEST_CASE("NCCL: a rank that is blocked in a call ends and names the silent rank") {
    const Environment timeout("DBENCH_TIMEOUT", "0.3");
    const auto ended = base::in_child([] {
        NcclStandIn device(3);
        std::vector<TalkMemory> memory(3);
        play(3, [&](World& world) -> std::string {
            world.use_row_transport(join_nccl(world, device.parts(world.slot()), 0));
            Talk talk(world, memory[world.rank()]);
            talk.connect();
            if (world.rank() == 0) talk.start({}, {{2, 64}});
            block_in_a_call();
            return "";
        });
        return 0;
    });
    CHECK(ended.exit_status == base::kExitFailed);
    CHECK_THAT(ended.stderr_text, ContainsSubstring("rows over NCCL stalled") &&
                                      ContainsSubstring("no answer from rank 2 within 0.6 s"));
}

TEST_CASE("NCCL: a start that fails is not watched") {
    const Environment timeout("DBENCH_TIMEOUT", "0.15");
    const auto ended = base::in_child([] {
        NcclStandIn device(1);
        const auto ends = play(1, [&](World& world) -> std::string {
            NcclParts parts = device.parts(0);
            bool fails = false;
            parts.cuda.event_record = [&, record = parts.cuda.event_record](CudaEvent* event,
                                                                            CudaStream* stream) {
                return fails ? static_cast<CudaResult>(1) : record(event, stream);
            };
            const auto transport = join_nccl(world, std::move(parts), 0);
            fails = true;
            try {
                transport->start({}, {});
                return "the start did not fail";
            } catch (const base::RunError&) {
            }
            // The watch would end the process after 0.3 s.
            std::this_thread::sleep_for(std::chrono::milliseconds(900));
            return "";
        });
        return ends.at(0).empty() ? 0 : 1;
    });
    CHECK(ended.exit_status == 0);
}

TEST_CASE("NCCL: the watch counts from the last rows that moved, not from the first start") {
    std::atomic<bool> gave_up = false;
    StallWatch watch(0.6, [&](const std::vector<int>&) { gave_up = true; });
    watch.started({1});
    for (int k = 0; k < 15; ++k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        watch.started({1});
        watch.moved();  // Another start is still in flight.
    }
    CHECK_FALSE(gave_up);
    for (int k = 0; k < 100 && !gave_up; ++k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    CHECK(gave_up);
}

TEST_CASE("NCCL: rows that keep moving are never given up") {
    const Environment timeout("DBENCH_TIMEOUT", "0.15");
    NcclStandIn device(2);
    std::vector<TalkMemory> memory(2);
    const auto ends = play(2, [&](World& world) -> std::string {
        world.use_row_transport(join_nccl(world, device.parts(world.slot()), 0));
        Talk talk(world, memory[world.rank()]);
        for (int round = 0; round < 20; ++round) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            talk.start({{1 - world.rank(), 64}}, {{1 - world.rank(), 64}});
            if (const std::string problem = talk.finish(); !problem.empty()) return problem;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(600));  // nothing is in flight
        return "";
    });
    for (const std::string& end : ends) CHECK(end == "");
}

namespace {

/// Runs all-reduces of one of four ranks with a deadline of a second. Returns the error that ends
/// them.
std::string reduce(World& world, arena::Rows rows, const arena::Layout& layout,
                   const std::function<void(int iteration)>& before) {
    world.impl().deadline = 1;
    Exchange exchange(world, {4, 4}, layout, nullptr, Reduction::reproducible);
    const arena::Rows row = rows.only(world.rank());
    try {
        for (int iteration = 0; iteration < 20; ++iteration) {
            before(iteration);
            exchange.finish_all_reduce(exchange.start_all_reduce(row, layout.all()));
        }
    } catch (const base::RunError& error) {
        return error.what();
    }
    return "nobody noticed";
}

/// Returns the errors of all ranks if rank 3 does not begin that iteration.
std::vector<std::string> ends_without(int iteration) {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, arena::DType::float32, 0, 4);
    NcclStandIn device(4);
    std::atomic<int> ended = 0;
    return play_nccl(device, 4, [&](World& world) -> std::string {
        const std::string end = reduce(world, x.rows(), layout, [&](int t) {
            if (world.rank() != 3 || t < iteration) return;
            while (ended < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            throw base::RunError("it has stopped");
        });
        ++ended;
        if (world.rank() == 3) world.impl().failed = true;
        while (ended < 3) world.pause(0.01);  // answers the questions of other ranks
        return end;
    });
}

}  // namespace

TEST_CASE("NCCL: the ranks that wait for a stopped rank name it") {
    const auto before = ends_without(0), later = ends_without(5);
    for (const int other : {0, 1, 2}) {
        CHECK_THAT(before[other],
                   ContainsSubstring("the start of an exchange over NCCL stalled (no answer from "
                                     "rank 3 within 1 s"));
        CHECK_THAT(later[other], ContainsSubstring("an exchange of parameters stalled (no answer "
                                                   "from rank 3 within 1 s"));
    }
}

TEST_CASE("NCCL: an error of the communicator fails its rank, and no rank hangs") {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, arena::DType::float32, 0, 4);
    NcclStandIn device(4);
    const auto ends = play_nccl(device, 4, [&](World& world) -> std::string {
        const std::string end = reduce(world, x.rows(), layout, [&](int t) {
            if (world.rank() == 2 && t == 2) device.fail(2, "the cable is cut");
        });
        world.report_failure(end);
        return end;
    });
    CHECK_THAT(ends[2], ContainsSubstring("NCCL has failed in the communicator (system error: the "
                                          "cable is cut)"));
    CHECK_THAT(ends[0], ContainsSubstring("rank 2 failed: NCCL has failed"));
    for (const int other : {1, 3}) CHECK_THAT(ends[other], ContainsSubstring("no answer from"));
}

namespace {

/// Runs all-reduces of ranks that compute on emulated devices until one rank fails. Returns the
/// errors. A rank that has ended answers questions until all have: it does not matter how soon each
/// gives up.
std::vector<std::string> reduce_on_devices(
    int ranks,
    const std::function<void(NcclStandIn&, World&, int t, const std::atomic<int>& ended)>& before) {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, arena::DType::float32, 0, ranks);
    std::vector<std::unique_ptr<arena::EmulatedDevice>> devices;
    NcclStandIn nccl(ranks);
    std::atomic<int> ended = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        devices.push_back(std::make_unique<arena::EmulatedDevice>(static_cast<uint64_t>(rank)));
        nccl.give(rank, *devices.back());
    }
    return play(
        ranks,
        [&](World& world) -> std::string {
            world.compute_on(world.place());
            world.use_row_transport(join_nccl(world, nccl.parts(world.slot()), 0));
            std::string end = "nobody noticed";
            {
                Exchange exchange(world, {ranks, ranks}, layout, nullptr, Reduction::reproducible);
                const arena::Rows row = x.rows().only(world.rank());
                world.impl().deadline = 2;
                try {
                    for (int t = 0; t < 8; ++t) {
                        before(nccl, world, t, ended);
                        exchange.finish_all_reduce(exchange.start_all_reduce(row, layout.all()));
                        if (t % 2 == 1) arena::finish(world.place().compute(), "the means");
                    }
                } catch (const base::RunError& error) {
                    end = error.what();
                    world.impl().failed = true;
                }
            }
            ++ended;
            if (end.starts_with("NCCL")) world.report_failure(end);
            while (ended < ranks) world.pause(0.01);
            return end;
        },
        [&](Membership& member) {
            arena::EmulatedDevice& device = *devices[static_cast<size_t>(member.rank)];
            member.place = {device.add_queue(), device.add_queue()};
        });
}

}  // namespace

TEST_CASE("NCCL: a wait for computation on missing rows names the rank that did not send them") {
    const auto ends = reduce_on_devices(3, [&](NcclStandIn&, World& world, int t, auto& ended) {
        if (world.rank() != 2 || t < 4) return;
        while (ended < 2) world.pause(0.01);
        throw base::RunError("it has stopped");
    });
    // The second rank to give up finds that the first no longer waits.
    for (const int other : {0, 1}) {
        CHECK_THAT(ends[other],
                   Catch::Matchers::Matches(R"(work on the device \(the means\) stalled \()"
                                            R"((rank|ranks [01],) 2 waits? for nobody, but )"
                                            R"((has|have) sent nothing.*)"));
    }
    CHECK(ends[2] == "it has stopped");
}

TEST_CASE("NCCL: a failed communicator ends waits for computation on its rows") {
    const auto ends = reduce_on_devices(2, [&](NcclStandIn& nccl, World& world, int t, auto&) {
        if (world.rank() == 1 && t == 3) nccl.fail(1, "the cable is cut");
    });
    CHECK_THAT(ends[1], ContainsSubstring("the cable is cut"));
    CHECK_THAT(ends[0], ContainsSubstring("rank 1 failed: NCCL has failed") ||
                            ContainsSubstring("no answer from rank 1"));
}

}  // namespace dbench::comm::tests
