// Rows over NCCL that do not come: what meets nothing, ranks that stop, a communicator that fails.

#include <atomic>

#include "arena/emulated_device.hpp"
#include "base/error.hpp"
#include "base/in_child.hpp"
#include "catch.hpp"
#include "comm/forwarding_planes.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/nccl_ranks.hpp"

namespace dbench::comm::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr arena::DType kFloat = arena::DType::float32;

}  // namespace

namespace {

/// Rows of all ranks, which outlive them: who has failed is read from still.
struct Memory {
    std::vector<char> out = std::vector<char>(1 << 16), in = out;
    Message message(int rank, int tag, int64_t bytes, bool sends) {
        return {rank, tag, (sends ? out : in).data(), bytes};
    }
};

/// Sends and receives on a rank's plane, and waits; what goes wrong.
class Talk {
public:
    /// Group 1 is what all say to all: they are connected.
    Talk(World& world, Memory& memory) : world_(world), memory_(memory) {
        std::vector<std::pair<int, int64_t>> all;
        for (int rank = 0; rank < world.size(); ++rank) {
            if (rank != world.rank()) all.emplace_back(rank, 16);
        }
        start(all, all);
    }

    void start(std::vector<std::pair<int, int64_t>> out, std::vector<std::pair<int, int64_t>> in) {
        std::vector<Message> sent, received;
        for (const auto& [rank, bytes] : out) {
            sent.push_back(memory_.message(rank, tag_, bytes, true));
        }
        for (const auto& [rank, bytes] : in) {
            received.push_back(memory_.message(rank, tag_, bytes, false));
        }
        ++tag_;
        keep([&] { return plane().start(sent, received); });
    }
    void sum(arena::DType type, int64_t count) {
        keep([&] { return plane().start_sum(type, memory_.out.data(), memory_.in.data(), count); });
    }
    /// Waits for the first thing that was started, and no other.
    void connect() {
        while (!transfers_.front()->test()) std::this_thread::yield();
    }
    std::string finish() {
        try {
            for (const auto& transfer : transfers_) {
                while (problem_.empty() && !transfer->test()) {
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
                }
            }
        } catch (const base::RunError& error) {
            problem_ = error.what();
        }
        return problem_;
    }

private:
    RowPlane& plane() { return world_.impl().rows(); }
    template <class Start>
    void keep(Start&& start) {
        if (!problem_.empty()) return;
        try {
            transfers_.push_back(start());
        } catch (const base::RunError& error) {
            problem_ = error.what();
        }
    }

    World& world_;
    Memory& memory_;
    int tag_ = 0;
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::string problem_;
};

/// What the stand-in says of `ranks` that talk, and every rank with it.
std::string fault(int ranks, const std::function<void(Talk&, int rank)>& part) {
    NcclStandIn device(ranks);
    std::vector<Memory> memory(static_cast<size_t>(ranks));
    const auto ends = play_nccl(device, ranks, [&](World& world) {
        Talk talk(world, memory[world.rank()]);
        part(talk, world.rank());
        return talk.finish();
    });
    const std::string problem = device.problem();
    for (const std::string& end : ends) {
        if (!end.empty()) CHECK_THAT(end, ContainsSubstring("NCCL has failed in"));
        if (!end.empty()) CHECK_THAT(end, ContainsSubstring(problem));
    }
    CHECK(std::count(ends.begin(), ends.end(), "") < ranks);
    return problem;
}

}  // namespace

TEST_CASE("NCCL: what does not meet is named with both calls") {
    const auto to = [](int rank) { return 1 - rank; };
    SECTION("another order on one rank") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            const bool first = rank == 0;
            talk.start({{to(rank), first ? 64 : 128}}, {{to(rank), first ? 64 : 128}});
            talk.start({{to(rank), first ? 128 : 64}}, {{to(rank), first ? 128 : 64}});
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sends 64 bytes to rank 1, "
                                              "receives 64 bytes from rank 1)") &&
                                ContainsSubstring("does not meet") &&
                                ContainsSubstring("group 2 of rank 1 (sends 128 bytes to rank 0"));
    }
    SECTION("a missing receive") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            talk.start({{to(rank), 64}}, {{to(rank), 64}});
            rank == 0 ? talk.start({{1, 32}}, {{1, 32}}) : talk.start({{0, 32}}, {});
        });
        CHECK_THAT(problem, ContainsSubstring("group 3 of rank 1 (sends 32 bytes to rank 0)") &&
                                ContainsSubstring("does not meet") &&
                                ContainsSubstring("receives 32 bytes from rank 1"));
    }
    SECTION("another size") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            rank == 0 ? talk.start({{1, 64}}, {}) : talk.start({}, {{0, 128}});
        });
        CHECK_THAT(problem, ContainsSubstring("(sends 64 bytes to rank 1)") &&
                                ContainsSubstring("(receives 128 bytes from rank 0)"));
    }
    SECTION("another type") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            talk.sum(rank == 0 ? kFloat : arena::DType::float64, 100);
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sums 100 float32)") &&
                                ContainsSubstring("group 2 of rank 1 (sums 100 float64)"));
    }
    SECTION("another group") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            if (rank == 0) return talk.start({{1, 64}, {1, 64}}, {});
            talk.start({}, {{0, 64}});
            talk.start({}, {{0, 64}});
        });
        CHECK_THAT(problem, ContainsSubstring("(sends 64 bytes to rank 1, sends 64 bytes") &&
                                ContainsSubstring("(receives 64 bytes from rank 0)"));
    }
    SECTION("a sum before an exchange") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            if (rank == 0) talk.sum(kFloat, 8);
            talk.start({{to(rank), 64}}, {{to(rank), 64}});
            if (rank == 1) talk.sum(kFloat, 8);
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sums 8 float32)") &&
                                ContainsSubstring("group 2 of rank 1 (sends 64 bytes to rank 0"));
    }
    SECTION("a circle, in which all pairs meet") {
        const std::string problem = fault(3, [&](Talk& talk, int rank) {
            const int next = (rank + 1) % 3, before = (rank + 2) % 3;
            talk.start({{next, 64}}, {});
            talk.start({}, {{before, 64}});
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sends 64 bytes to rank 1), "
                                              "which waits for group 2 of rank 1 (sends 64 bytes "
                                              "to rank 2), which waits for group 2 of rank 2 "
                                              "(sends 64 bytes to rank 0), which waits for the"));
    }
}

TEST_CASE("NCCL: a message that nobody waits for is named when its receiver leaves") {
    NcclStandIn device(2);
    std::vector<Memory> memory(2);
    play_nccl(device, 2, [&](World& world) {
        Talk talk(world, memory[world.rank()]);
        if (world.rank() == 0) talk.start({{1, 64}}, {});
        return "";
    });
    CHECK(device.problem() ==
          "group 2 of rank 0 (sends 64 bytes to rank 1) waits for rank 1, which has left");
}

/// Nobody looks at a deadline there: so is a thread that launches where a stream is full.
void held_in_a_call() { std::this_thread::sleep_for(std::chrono::seconds(60)); }

TEST_CASE("NCCL: a rank whose thread is held in a call ends, and names who sends nothing") {
    const Environment timeout("DBENCH_TIMEOUT", "0.3");
    const auto ended = base::in_child([] {
        NcclStandIn device(3);
        std::vector<Memory> memory(3);
        play(3, [&](World& world) -> std::string {
            world.carry_rows(join_nccl(world, device.parts(world.slot()), 0));
            Talk talk(world, memory[world.rank()]);
            talk.connect();
            if (world.rank() == 0) talk.start({}, {{2, 64}});
            held_in_a_call();
            return "";
        });
        return 0;
    });
    CHECK(ended.exit_status == base::kExitFailed);
    CHECK_THAT(ended.stderr_text, ContainsSubstring("rows over NCCL stalled") &&
                                      ContainsSubstring("no answer from rank 2 within 0.6 s"));
}

TEST_CASE("NCCL: what moves is not given up, however long it goes on") {
    const Environment timeout("DBENCH_TIMEOUT", "0.15");
    NcclStandIn device(2);
    std::vector<Memory> memory(2);
    const auto ends = play(2, [&](World& world) -> std::string {
        world.carry_rows(join_nccl(world, device.parts(world.slot()), 0));
        Talk talk(world, memory[world.rank()]);
        for (int round = 0; round < 20; ++round) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            talk.start({{1 - world.rank(), 64}}, {{1 - world.rank(), 64}});
            if (const std::string problem = talk.finish(); !problem.empty()) return problem;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(600));  // nothing is under way
        return "";
    });
    for (const std::string& end : ends) CHECK(end == "");
}

TEST_CASE("NCCL: buckets in another order on one rank are named") {
    const arena::Layout layout = short_layout();
    const DenseSchedule ring = circulant(3, {1, -1});
    const arena::Buffer x = replicas(layout, kFloat, 0, 3);
    NcclStandIn device(3);
    const auto ends = play_nccl(device, 3, [&](World& world) -> std::string {
        Exchange exchange(world, {3, 3}, layout, &ring, Reduction::reproducible);
        const arena::Rows row = x.rows().only(world.rank());
        std::vector<arena::Columns> buckets{{0, 64}, {64, 256}};
        if (world.rank() == 1) std::swap(buckets[0], buckets[1]);
        try {
            std::vector<Token> tokens;
            for (const arena::Columns columns : buckets) {
                tokens.push_back(exchange.start_mix({0, true}, row, columns));
            }
            for (const Token& token : tokens) exchange.finish_mix(token, row);
        } catch (const base::RunError& error) {
            return error.what();
        }
        return "nobody noticed";
    });
    for (const std::string& end : ends) CHECK_THAT(end, ContainsSubstring(device.problem()));
    CHECK_THAT(device.problem(),
               ContainsSubstring("of rank 1 (") && ContainsSubstring("sends 256 bytes") &&
                   ContainsSubstring("does not meet") && ContainsSubstring("sends 768 bytes"));
}

namespace {

/// A plane whose steps an exchange starts one after the other, as if it had no queue.
class WithoutQueue : public ForwardingRows {
public:
    using ForwardingRows::ForwardingRows;
    arena::Queue* queue() override { return nullptr; }
};

}  // namespace

TEST_CASE("NCCL: a step that starts after a later exchange is named by the plane") {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kFloat, 0, 2);
    NcclStandIn device(2);
    const auto ends = play_nccl(
        device, 2,
        [&](World& world) -> std::string {
            Exchange exchange(world, {2, 2}, layout, nullptr, Reduction::reproducible);
            const arena::Rows row = x.rows().only(world.rank());
            exchange.finish_all_reduce(exchange.start_all_reduce(row, {0, 16}));
            if (world.rank() == 0) world.barrier();  // until both are started over there
            std::vector<Token> tokens;
            for (const arena::Columns columns : {arena::Columns{0, 512}, {512, 1024}}) {
                tokens.push_back(exchange.start_all_reduce(row, columns));
            }
            if (world.rank() == 1) world.barrier();
            try {
                for (const Token& token : tokens) exchange.finish_all_reduce(token);
            } catch (const base::RunError& error) {
                device.fail(0, "the other one has failed");
                return error.what();
            }
            return "nobody noticed";
        },
        [](int rank, std::unique_ptr<RowPlane> plane) -> std::unique_ptr<RowPlane> {
            if (rank == 0) return plane;
            return std::make_unique<WithoutQueue>(std::move(plane));
        });
    CHECK_THAT(ends[1], ContainsSubstring("rows of exchange 1 start after those of exchange 2"));
    CHECK_THAT(ends[0], ContainsSubstring("the other one has failed"));
}

namespace {

/// All-reduces of one of four ranks, which may take a second; how they end.
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

/// What the others end with when rank 3 does not begin that iteration.
std::vector<std::string> ends_without(int iteration) {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kFloat, 0, 4);
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
        while (ended < 3) world.pause(0.01);  // who asks has an answer
        return end;
    });
}

}  // namespace

TEST_CASE("NCCL: a rank that stops is named by those who wait for it") {
    const auto before = ends_without(0), later = ends_without(5);
    for (const int other : {0, 1, 2}) {
        CHECK_THAT(before[other],
                   ContainsSubstring("the start of an exchange over NCCL stalled (no answer from "
                                     "rank 3 within 1 s"));
        CHECK_THAT(later[other], ContainsSubstring("an exchange of parameters stalled (no answer "
                                                   "from rank 3 within 1 s"));
    }
}

TEST_CASE("NCCL: an error of the communicator is its rank's failure, and nobody hangs") {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kFloat, 0, 4);
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

/// All-reduces of ranks that compute on emulated devices, until one ends otherwise; how they end.
/// Who has ended answers until all have: how soon each gives up does not matter.
std::vector<std::string> reduce_on_devices(
    int ranks,
    const std::function<void(NcclStandIn&, World&, int t, const std::atomic<int>& ended)>& before) {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kFloat, 0, ranks);
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
            world.compute_on(world.queues());
            world.carry_rows(join_nccl(world, nccl.parts(world.slot()), 0));
            std::string end = "nobody noticed";
            {
                Exchange exchange(world, {ranks, ranks}, layout, nullptr, Reduction::reproducible);
                const arena::Rows row = x.rows().only(world.rank());
                world.impl().deadline = 2;
                try {
                    for (int t = 0; t < 8; ++t) {
                        before(nccl, world, t, ended);
                        exchange.finish_all_reduce(exchange.start_all_reduce(row, layout.all()));
                        if (t % 2 == 1) arena::finish(world.queues().compute, "the means");
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
            member.queues = {device.add_queue(), device.add_queue()};
        });
}

}  // namespace

TEST_CASE("NCCL: what is computed behind rows that do not come names the rank that owes them") {
    const auto ends = reduce_on_devices(3, [&](NcclStandIn&, World& world, int t, auto& ended) {
        if (world.rank() != 2 || t < 4) return;
        while (ended < 2) world.pause(0.01);
        throw base::RunError("it has stopped");
    });
    for (const int other : {0, 1}) {  // the second to give up finds the first waiting no more
        CHECK_THAT(ends[other],
                   Catch::Matchers::Matches(R"(work on the device \(the means\) stalled \()"
                                            R"((rank|ranks [01],) 2 waits? for nobody, but )"
                                            R"((has|have) sent nothing.*)"));
    }
    CHECK(ends[2] == "it has stopped");
}

TEST_CASE("NCCL: a communicator that fails ends what is computed behind it") {
    const auto ends = reduce_on_devices(2, [&](NcclStandIn& nccl, World& world, int t, auto&) {
        if (world.rank() == 1 && t == 3) nccl.fail(1, "the cable is cut");
    });
    CHECK_THAT(ends[1], ContainsSubstring("the cable is cut"));
    CHECK_THAT(ends[0], ContainsSubstring("rank 1 failed: NCCL has failed") ||
                            ContainsSubstring("no answer from rank 1"));
}

}  // namespace dbench::comm::tests
