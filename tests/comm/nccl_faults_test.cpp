// Rows over NCCL that can never arrive: calls without a counterpart, and different orders on
// different ranks.

#include "catch.hpp"
#include "comm/forwarding_transports.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/nccl_ranks.hpp"
#include "comm/nccl_talk.hpp"

namespace dbench::comm::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr arena::DType kNcclFaultsFloat = arena::DType::float32;

/// Returns the stand-in's report on `ranks` that run `part`. Checks that all ranks fail with this
/// report.
std::string fault(int ranks, const std::function<void(Talk&, int rank)>& part) {
    NcclStandIn device(ranks);
    std::vector<TalkMemory> memory(static_cast<size_t>(ranks));
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

TEST_CASE("NCCL: a communicator whose join failed is aborted before its stream is destroyed") {
    NcclStandIn device(1);
    std::vector<std::string> calls;
    const auto ends = play(1, [&](World& world) -> std::string {
        NcclParts parts = device.parts(0);
        parts.nccl.async_error = [](NcclCommunicator*, NcclResult* state) {
            *state = NcclResult::system_error;
            return NcclResult::success;
        };
        parts.nccl.abort = [&, abort = parts.nccl.abort](NcclCommunicator* communicator) {
            calls.push_back("abort");
            return abort(communicator);
        };
        parts.cuda.stream_destroy = [&, destroy = parts.cuda.stream_destroy](CudaStream* stream) {
            calls.push_back("destroy the stream");
            return destroy(stream);
        };
        join_nccl(world, std::move(parts), 0);
        return "";
    });
    CHECK_THAT(ends.at(0), ContainsSubstring("NCCL has failed in"));
    CHECK(calls == std::vector<std::string>{"abort", "destroy the stream"});
}

TEST_CASE("NCCL: calls that do not match are named with both calls") {
    const auto to = [](int rank) { return 1 - rank; };
    SECTION("a different order on one rank") {
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
    SECTION("a different size") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            rank == 0 ? talk.start({{1, 64}}, {}) : talk.start({}, {{0, 128}});
        });
        CHECK_THAT(problem, ContainsSubstring("(sends 64 bytes to rank 1)") &&
                                ContainsSubstring("(receives 128 bytes from rank 0)"));
    }
    SECTION("a different type") {
        const std::string problem = fault(2, [&](Talk& talk, int rank) {
            talk.sum(rank == 0 ? kNcclFaultsFloat : arena::DType::float64, 100);
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sums 100 float32)") &&
                                ContainsSubstring("group 2 of rank 1 (sums 100 float64)"));
    }
    SECTION("a different group") {
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
            if (rank == 0) talk.sum(kNcclFaultsFloat, 8);
            talk.start({{to(rank), 64}}, {{to(rank), 64}});
            if (rank == 1) talk.sum(kNcclFaultsFloat, 8);
        });
        CHECK_THAT(problem, ContainsSubstring("group 2 of rank 0 (sums 8 float32)") &&
                                ContainsSubstring("group 2 of rank 1 (sends 64 bytes to rank 0"));
    }
    SECTION("a cycle in which all pairs match") {
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

TEST_CASE("NCCL: a message without a receive is named when its receiver leaves") {
    NcclStandIn device(2);
    std::vector<TalkMemory> memory(2);
    play_nccl(device, 2, [&](World& world) {
        Talk talk(world, memory[world.rank()]);
        if (world.rank() == 0) talk.start({{1, 64}}, {});
        return "";
    });
    CHECK(device.problem() ==
          "group 2 of rank 0 (sends 64 bytes to rank 1) waits for rank 1, which has left");
}

TEST_CASE("NCCL: buckets in a different order on one rank are named") {
    const arena::Layout layout = short_layout();
    const DenseSchedule ring = circulant(3, {1, -1});
    const arena::Buffer x = replicas(layout, kNcclFaultsFloat, 0, 3);
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

/// A transport that hides its queue, so that an exchange starts its steps one after the other.
class WithoutQueue : public ForwardingRows {
public:
    using ForwardingRows::ForwardingRows;
    arena::Queue* queue() override { return nullptr; }
};

}  // namespace

TEST_CASE("NCCL: the transport names a step that starts after a later exchange") {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kNcclFaultsFloat, 0, 2);
    NcclStandIn device(2);
    const auto ends = play_nccl(
        device, 2,
        [&](World& world) -> std::string {
            Exchange exchange(world, {2, 2}, layout, nullptr, Reduction::reproducible);
            const arena::Rows row = x.rows().only(world.rank());
            exchange.finish_all_reduce(exchange.start_all_reduce(row, {0, 16}));
            if (world.rank() == 0) world.barrier();  // until rank 1 has started both
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
        [](int rank, std::unique_ptr<RowTransport> transport) -> std::unique_ptr<RowTransport> {
            if (rank == 0) return transport;
            return std::make_unique<WithoutQueue>(std::move(transport));
        });
    CHECK_THAT(ends[1], ContainsSubstring("rows of exchange 1 start after those of exchange 2"));
    CHECK_THAT(ends[0], ContainsSubstring("the other one has failed"));
}

namespace {

/// A transport that refuses the `refused`-th start from now on.
class RefusingRows : public ForwardingRows {
public:
    using ForwardingRows::ForwardingRows;
    int refused = 0;  ///< 0: none.
    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        if (refused > 0 && --refused == 0) throw base::RunError("this start was refused");
        return ForwardingRows::start(out, in);
    }
};

}  // namespace

// Without the memory that an exchange keeps after a failed start, the launches of its first step
// read freed memory; the build with sanitizers reports that.
TEST_CASE("NCCL: launches of an exchange that failed to start may run after its end") {
    const arena::Layout layout = short_layout();
    const arena::Buffer x = replicas(layout, kNcclFaultsFloat, 0, 2);
    NcclStandIn device(2);
    std::vector<RefusingRows*> transports(2);
    const auto ends = play_nccl(
        device, 2,
        [&](World& world) -> std::string {
            RefusingRows& rows = *transports[world.rank()];
            std::string problem = "nobody noticed";
            try {
                Exchange exchange(world, {2, 2}, layout, nullptr, Reduction::reproducible);
                rows.refused = 2;
                exchange.start_all_reduce(x.rows().only(world.rank()), {0, 1024});
            } catch (const base::RunError& error) {
                problem = error.what();
            }
            const auto later = rows.start({}, {});
            while (!later->test()) std::this_thread::yield();
            return problem;
        },
        [&](int rank, std::unique_ptr<RowTransport> transport) -> std::unique_ptr<RowTransport> {
            auto refusing = std::make_unique<RefusingRows>(std::move(transport));
            transports[rank] = refusing.get();
            return refusing;
        });
    for (const std::string& end : ends) CHECK(end == "this start was refused");
}

}  // namespace dbench::comm::tests
