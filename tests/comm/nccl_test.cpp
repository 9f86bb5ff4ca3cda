// Rows over NCCL, by the stand-in: the bits of other planes, and every fault named.

#include "comm/nccl_plane.hpp"

#include <atomic>
#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/forwarding_planes.hpp"
#include "comm/message_checks.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/moment_checks.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/pair_averaging.hpp"
#include "comm/world_impl.hpp"

namespace dbench::comm::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr arena::DType kFloat = arena::DType::float32;

using Wrap = std::function<std::unique_ptr<RowPlane>(int rank, std::unique_ptr<RowPlane>)>;

/// Threads play ranks whose rows go over the stand-in; `wrap` puts planes around theirs. Who waits
/// for ever gives up soon.
std::vector<std::string> play_nccl(NcclStandIn& device, int ranks,
                                   const std::function<std::string(World&)>& part,
                                   const Wrap& wrap = {}) {
    const Environment timeout("DBENCH_TIMEOUT", "20");
    return play(ranks, [&](World& world) {
        auto plane = join_nccl(world, device.parts(world.slot()), 0);
        if (wrap) plane = wrap(world.slot(), std::move(plane));
        world.carry_rows(std::move(plane));
        return part(world);
    });
}

/// The same where all shall go well.
void check_nccl(int ranks, const std::function<std::string(World&)>& part, uint64_t seed = 1) {
    NcclStandIn device(ranks, seed);
    for (const std::string& problem : play_nccl(device, ranks, part)) CHECK(problem == "");
    CHECK(device.problem() == "");
}

/// Enough columns for all `cuts`, few enough for many rounds.
arena::Layout short_layout() {
    arena::Layout layout;
    layout.add("a", {3, 5}, arena::TensorKind::weight);
    layout.add("b", {1100}, arena::TensorKind::weight);
    layout.add("c", {77}, arena::TensorKind::bias);
    return layout;
}

/// Every graph that n replicas can have without files.
std::vector<std::unique_ptr<graphs::Schedule>> families(int n) {
    std::vector<std::unique_ptr<graphs::Schedule>> list;
    for (const graphs::GraphEntry& entry : graphs::graph_table()) {
        try {
            list.push_back(graphs::make_graph(base::Json(entry.name), {n, 5, {{60, 4, n}, 4096}}));
        } catch (const base::UserError&) {
        }
    }
    return list;
}

/// Three rounds of a schedule, each with two buckets of parameters in flight, and a mean over all
/// replicas between them.
arena::Buffer several_rounds(World& world, const graphs::Schedule& schedule,
                             const arena::Layout& layout) {
    const int n = schedule.size();
    const Placement placement{n, world.size()};
    const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible);
    arena::Buffer x = replicas(layout, kFloat, first, count);
    const arena::Columns front{0, 512}, back{512, layout.columns()};
    for (int t = 0; t < 3; ++t) {
        const graphs::Round round = schedule.at(t);
        const arena::Buffer mean = replicas(layout, kFloat, first, count);
        const Token early = exchange.start_mix(round, x.rows(), front);
        const Token between = exchange.start_all_reduce(mean.rows(), back);
        const Token late = exchange.start_mix(round, x.rows(), back);
        exchange.finish_mix(late, x.rows());
        exchange.finish_all_reduce(between);
        exchange.finish_mix(early, x.rows());
        arena::copy(mean.rows(), x.rows(), {512, 528});
    }
    return x;
}

}  // namespace

TEST_CASE("NCCL: all graphs give the bits of one process, with two buckets in flight") {
    const arena::Layout layout = short_layout();
    for (int n = 2; n <= 9; ++n) {
        const auto graphs = families(n);
        CHECK(graphs.size() > 20);
        std::vector<arena::Buffer> expected;
        {
            World solitary{alone()};
            for (const auto& graph : graphs) {
                expected.push_back(several_rounds(solitary, *graph, layout));
            }
        }
        check_nccl(n, [&](World& world) {
            const auto own = families(n);
            std::string problems;
            for (size_t k = 0; k < own.size(); ++k) {
                const arena::Buffer x = several_rounds(world, *own[k], layout);
                problems += difference(x.rows(), expected[k].rows(), layout.columns());
            }
            return problems;
        });
    }
}

TEST_CASE("NCCL: all ways to mix, with groups of several replicas a rank, in 16 bits, too") {
    const arena::Layout layout = short_layout();
    for (const int n : {2, 5, 9}) {
        for (const arena::Codec codec : {arena::Codec::identity, arena::Codec::bfloat16}) {
            for (const DenseSchedule& schedule : all_schedules(n)) {
                const arena::Buffer mixed = mixed_alone(schedule, layout, kFloat, codec);
                check_nccl(std::min(n, 4), [&](World& world) {
                    return check_mixing(world, schedule, layout, kFloat, mixed, codec);
                });
            }
        }
    }
    const arena::Buffer mean = mixed_alone(complete(9), layout, kFloat);
    check_nccl(4, [&](World& world) { return check_all_reduce(world, 9, layout, kFloat, mean); });
}

TEST_CASE("NCCL: messages that are no rows, and moments") {
    const arena::Layout layout = short_layout();
    World solitary{alone()};
    const MomentsSeen moments = moments_of(solitary, 7, layout, kFloat);
    check_nccl(3, [&](World& world) {
        std::string problems = check_moments(world, 7, layout, kFloat, moments);
        for (const DenseSchedule& schedule : all_schedules(7)) {
            problems += check_messages(world, schedule) + check_link_messages(world, schedule);
        }
        return problems;
    });
}

TEST_CASE("NCCL: a sum of the library is the mean, the same on all ranks") {
    const arena::Layout layout = short_layout();
    const int n = 7, ranks = 3;
    const DenseSchedule all = complete(n);
    std::vector<std::string> rows(ranks);
    check_nccl(ranks, [&](World& world) {
        const Placement placement{n, ranks};
        Exchange exchange(world, placement, layout, nullptr, Reduction::library);
        const arena::Buffer x =
            replicas(layout, kFloat, placement.begin(world.rank()), placement.count(world.rank()));
        std::vector<Token> tokens;
        for (const arena::Columns columns : cuts(layout)) {
            tokens.push_back(exchange.start_all_reduce(x.rows(), columns));
        }
        for (const Token& token : tokens) exchange.finish_all_reduce(token);
        rows[world.rank()].assign(x.rows().at(0, 0), x.rows().at(0, layout.columns()));
        return against_dense(all, layout, x.rows(), 1e-6);
    });
    CHECK(rows[0] == rows[1]);
    CHECK(rows[0] == rows[2]);
}

TEST_CASE("NCCL: ranks may be renumbered before and after it is joined") {
    const arena::Layout layout = short_layout();
    const DenseSchedule schedule = arbitrary(4, 7);
    const arena::Buffer expected = mixed_alone(schedule, layout, kFloat);
    NcclStandIn device(4);
    for (const std::string& problem : play(4, [&](World& world) {
             world.renumber({2, 0, 3, 1});
             world.carry_rows(join_nccl(world, device.parts(world.slot()), 0));
             std::string problems = check_mixing(world, schedule, layout, kFloat, expected);
             for (const std::vector<int>& slots : std::vector<std::vector<int>>{{3, 2, 1, 0}, {}}) {
                 world.barrier();  // nobody reads rows of the last one any more
                 world.renumber(slots);
                 problems += check_mixing(world, schedule, layout, kFloat, expected);
             }
             return problems;
         })) {
        CHECK(problem == "");
    }
    CHECK(device.problem() == "");
}

TEST_CASE("NCCL: two ranks on one card are refused") {
    expect_own_cards({{"a", "0000:01:00.0"}, {"b", "0000:01:00.0"}, {"a", "0000:02:00.0"}});
    NcclStandIn device(3);
    device.share_card(2, 0);
    for (const std::string& problem : play_nccl(device, 3, [](World&) { return ""; })) {
        CHECK_THAT(problem, ContainsSubstring("ranks 0 and 2 both use GPU 0000:00:00.0 of ") &&
                                ContainsSubstring("one rank a GPU") &&
                                ContainsSubstring("several replicas"));
    }
}

TEST_CASE("NCCL: a card that is not there is an error of all ranks") {
    NcclStandIn device(2);
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             join_nccl(world, device.parts(world.slot()), world.rank());
             return "";
         })) {
        CHECK_THAT(problem, ContainsSubstring("rank 1: device 1 is not there (invalid device"));
    }
}

TEST_CASE("NCCL: ranks that do not wait for each other are told that they cannot use it") {
    check_nccl(2, [](World& world) -> std::string {
        const arena::Buffer x(kFloat, world.rank(), 1, 64);
        try {
            const PairAveraging averaging(world, x.rows(), {1 - world.rank()});
        } catch (const base::UserError& error) {
            const std::string text = error.what();
            return text.find("run on the CPU") != text.npos ? "" : text;
        }
        return "no error";
    });
}

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

TEST_CASE("NCCL: rows are given back to the plane that carried them before") {
    const arena::Layout layout = short_layout();
    const DenseSchedule schedule = arbitrary(3, 7);
    const arena::Buffer expected = mixed_alone(schedule, layout, kFloat);
    NcclStandIn device(3);
    for (const std::string& problem : play(3, [&](World& world) {
             world.renumber({2, 0, 1});
             world.carry_rows(nullptr);  // nobody else carries them
             world.carry_rows(join_nccl(world, device.parts(world.slot()), 0));
             const bool over_nccl = world.impl().rows().queue() != nullptr;
             std::string problems = check_mixing(world, schedule, layout, kFloat, expected);
             world.barrier();  // nobody reads rows any more
             world.carry_rows(nullptr);
             problems += check_mixing(world, schedule, layout, kFloat, expected);
             if (!over_nccl || world.impl().rows().queue()) problems += "another plane";
             return problems;
         })) {
        CHECK(problem == "");
    }
    CHECK(device.problem() == "");
}

TEST_CASE("NCCL: a library that is not there, or another one, is named with the remedy") {
    try {
        load_nccl({"libnobody-has-this.so.2"});
        FAIL("it was found");
    } catch (const base::UserError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("libnobody-has-this.so.2") &&
                                     ContainsSubstring("LD_LIBRARY_PATH"));
    }
    try {
        load_cuda({"libnobody-has-this.so.2", "libc.so.6"});
        FAIL("it has the functions");
    } catch (const base::UserError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("CUDA's runtime has no cudaSetDevice"));
    }
    NcclStandIn device(1);
    CHECK(version_text(device.parts(0).nccl) == "2.28.9");
    try {  // those of this machine have all functions, where it has any
        CHECK_THAT(version_text(load_nccl()), Catch::Matchers::StartsWith("2."));
        CHECK(load_cuda().error_string(CudaResult::success) == std::string("no error"));
    } catch (const base::UserError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("could not be loaded"));
    }
}

}  // namespace dbench::comm::tests
