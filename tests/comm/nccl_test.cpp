// Rows over NCCL, with the stand-in: the bits are those of other transports, and unsuitable setups
// are refused.

#include "comm/nccl/nccl_transport.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "comm/message_checks.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/moment_checks.hpp"
#include "comm/nccl_ranks.hpp"
#include "comm/peers/pair_averaging.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm::tests {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr arena::DType kNcclFloat = arena::DType::float32;

/// Returns every graph of n replicas that needs no file.
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

/// Runs three rounds of a schedule, each with two buckets of parameters in flight, and an
/// all-reduce over all replicas between them.
arena::Buffer several_rounds(World& world, const graphs::Schedule& schedule,
                             const arena::Layout& layout) {
    const int n = schedule.size();
    const Placement placement{n, world.size()};
    const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible);
    arena::Buffer x = replicas(layout, kNcclFloat, first, count);
    const arena::Columns front{0, 512}, back{512, layout.columns()};
    for (int t = 0; t < 3; ++t) {
        const graphs::Round round = schedule.at(t);
        const arena::Buffer mean = replicas(layout, kNcclFloat, first, count);
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

TEST_CASE("NCCL: all ways to mix, with groups of several replicas per rank, also in 16 bits") {
    const arena::Layout layout = short_layout();
    for (const int n : {2, 5, 9}) {
        for (const arena::ElementCodec codec :
             {arena::ElementCodec::identity, arena::ElementCodec::bfloat16}) {
            for (const DenseSchedule& schedule : all_schedules(n)) {
                const arena::Buffer mixed = mixed_alone(schedule, layout, kNcclFloat, codec);
                check_nccl(std::min(n, 4), [&](World& world) {
                    return check_mixing(world, schedule, layout, kNcclFloat, mixed, codec);
                });
            }
        }
    }
    const arena::Buffer mean = mixed_alone(complete(9), layout, kNcclFloat);
    check_nccl(4,
               [&](World& world) { return check_all_reduce(world, 9, layout, kNcclFloat, mean); });
}

TEST_CASE("NCCL: opaque messages and moments") {
    const arena::Layout layout = short_layout();
    World solitary{alone()};
    const MomentsSeen moments = moments_of(solitary, 7, layout, kNcclFloat);
    check_nccl(3, [&](World& world) {
        std::string problems = check_moments(world, 7, layout, kNcclFloat, moments);
        for (const DenseSchedule& schedule : all_schedules(7)) {
            problems += check_messages(world, schedule) + check_link_messages(world, schedule);
        }
        return problems;
    });
}

TEST_CASE("NCCL: the library's all-reduce is the mean, the same on all ranks") {
    const arena::Layout layout = short_layout();
    const int n = 7, ranks = 3;
    const DenseSchedule all = complete(n);
    std::vector<std::string> rows(ranks);
    check_nccl(ranks, [&](World& world) {
        const Placement placement{n, ranks};
        Exchange exchange(world, placement, layout, nullptr, Reduction::library);
        const arena::Buffer x = replicas(layout, kNcclFloat, placement.begin(world.rank()),
                                         placement.count(world.rank()));
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

TEST_CASE("NCCL: ranks may be renumbered before and after joining") {
    const arena::Layout layout = short_layout();
    const DenseSchedule schedule = arbitrary(4, 7);
    const arena::Buffer expected = mixed_alone(schedule, layout, kNcclFloat);
    NcclStandIn device(4);
    for (const std::string& problem : play(4, [&](World& world) {
             world.renumber({2, 0, 3, 1});
             world.use_row_transport(join_nccl(world, device.parts(world.slot()), 0));
             std::string problems = check_mixing(world, schedule, layout, kNcclFloat, expected);
             for (const std::vector<int>& slots : std::vector<std::vector<int>>{{3, 2, 1, 0}, {}}) {
                 world.barrier();  // no rank reads rows of the last exchange any more
                 world.renumber(slots);
                 problems += check_mixing(world, schedule, layout, kNcclFloat, expected);
             }
             return problems;
         })) {
        CHECK(problem == "");
    }
    CHECK(device.problem() == "");
}

TEST_CASE("NCCL: two ranks on one GPU are refused") {
    require_distinct_gpus({{"a", "0000:01:00.0"}, {"b", "0000:01:00.0"}, {"a", "0000:02:00.0"}});
    NcclStandIn device(3);
    device.share_card(2, 0);
    for (const std::string& problem : play_nccl(device, 3, [](World&) { return ""; })) {
        CHECK_THAT(problem, ContainsSubstring("ranks 0 and 2 both use GPU 0000:00:00.0 of ") &&
                                ContainsSubstring("one rank a GPU") &&
                                ContainsSubstring("several replicas"));
    }
}

TEST_CASE("NCCL: a missing GPU is an error of all ranks") {
    NcclStandIn device(2);
    for (const std::string& problem : play(2, [&](World& world) -> std::string {
             join_nccl(world, device.parts(world.slot()), world.rank());
             return "";
         })) {
        CHECK_THAT(problem, ContainsSubstring("rank 1: device 1 is not there (invalid device"));
    }
}

TEST_CASE("NCCL: asynchronous training is refused") {
    check_nccl(2, [](World& world) -> std::string {
        const arena::Buffer x(kNcclFloat, world.rank(), 1, 64);
        try {
            const PairAveraging averaging(world, x.rows(), {1 - world.rank()});
        } catch (const base::UserError& error) {
            const std::string text = error.what();
            return text.find("run on the CPU") != text.npos ? "" : text;
        }
        return "no error";
    });
}

TEST_CASE("NCCL: rows can return to the previous transport") {
    const arena::Layout layout = short_layout();
    const DenseSchedule schedule = arbitrary(3, 7);
    const arena::Buffer expected = mixed_alone(schedule, layout, kNcclFloat);
    NcclStandIn device(3);
    for (const std::string& problem : play(3, [&](World& world) {
             world.renumber({2, 0, 1});
             world.use_row_transport(nullptr);  // no effect: no other transport carries rows
             world.use_row_transport(join_nccl(world, device.parts(world.slot()), 0));
             const bool over_nccl = world.impl().rows().queue() != nullptr;
             std::string problems = check_mixing(world, schedule, layout, kNcclFloat, expected);
             world.barrier();  // no rank reads rows any more
             world.use_row_transport(nullptr);
             problems += check_mixing(world, schedule, layout, kNcclFloat, expected);
             if (!over_nccl || world.impl().rows().queue()) problems += "another transport";
             return problems;
         })) {
        CHECK(problem == "");
    }
    CHECK(device.problem() == "");
}

TEST_CASE("NCCL: a missing or wrong library is named with a remedy") {
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
    try {  // succeeds if this machine has the libraries
        CHECK_THAT(version_text(load_nccl()), Catch::Matchers::StartsWith("2."));
        CHECK(load_cuda().error_string(CudaResult::success) == std::string("no error"));
    } catch (const base::UserError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("could not be loaded"));
    }
}

}  // namespace dbench::comm::tests
