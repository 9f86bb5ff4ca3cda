#include <atomic>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/faulty_transports.hpp"
#include "comm/service_checks.hpp"

namespace dbench::comm::tests {
namespace {

void check_all(int ranks, const std::function<std::string(World&)>& part, const Dress& dress = {}) {
    CAPTURE(ranks);
    for (const std::string& problem : play(ranks, part, dress)) CHECK(problem == "");
}

/// Messages of a rank overtake each other and take up to two milliseconds.
Dress late(std::atomic<uint64_t>& seed) {
    return [&seed](Membership& member) {
        member.rows = std::make_unique<DelayedRows>(std::move(member.rows), seed++, 2e-3);
    };
}

}  // namespace

TEST_CASE("Averages of pairs preserve the sum and terminate, for any graph and timing") {
    for (int ranks = 2; ranks <= 9; ++ranks) {
        uint64_t seed = 100 * static_cast<uint64_t>(ranks);
        for (const Neighbours& graph : connected_graphs(ranks, seed)) {
            ++seed;
            check_all(ranks, [&](World& world) { return check_pairs(world, graph, seed, 12); });
        }
    }
}

TEST_CASE("Averages of pairs over late messages preserve the sum and terminate") {
    std::atomic<uint64_t> seed = 1;
    for (const Neighbours& graph : connected_graphs(5, 1)) {
        check_all(
            5, [&](World& world) { return check_pairs(world, graph, 7, 8); }, late(seed));
    }
}

TEST_CASE("Averages of pairs converge to the mean") {
    check_all(4, [](World& world) {
        return check_consensus(world, connected_graphs(world.size(), 3)[0], 5);
    });
}

TEST_CASE("Both ranks of a pair get the same bits") {
    std::vector<float> values(2);
    check_all(2, [&](World& world) -> std::string {
        const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
        set(x.rows(), 0, 0, world.rank() ? 1e8 / 3 : 0.1);
        RunningService<PairAveraging> pairs(world, x.rows(), std::vector{1 - world.rank()});
        pairs->begin(0, 1);
        if (world.rank() == 1) pairs->request(0);
        pairs->finish();
        pairs->finish_span();
        pairs->close();
        values[static_cast<size_t>(world.rank())] = x.rows().row<float>(0)[0];
        return "";
    });
    CHECK(values[0] == values[1]);
    CHECK(values[0] == Approx(0.5 * (0.1 + 1e8 / 3)));
}

TEST_CASE("Published rows arrive complete and in order, the last one before the end") {
    std::atomic<uint64_t> seeds = 1;
    for (int ranks = 2; ranks <= 9; ++ranks) {
        uint64_t seed = 10 * static_cast<uint64_t>(ranks);
        for (const Neighbours& graph : connected_graphs(ranks, seed)) {
            ++seed;
            const Dress dress = seed % 2 ? late(seeds) : Dress();
            check_all(
                ranks, [&](World& world) { return check_mail(world, graph, seed, 10); }, dress);
        }
    }
}

TEST_CASE("Asynchronous ranks agree on where to stop") {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        const int ranks = 2 + static_cast<int>(seed) % 5;
        const Neighbours ring = connected_graphs(ranks, seed)[1];
        check_all(ranks, [&](World& world) { return check_stop(world, ring, seed); });
    }
}

// Rank 1 computes its first iteration until all other ranks have ended their last one.
TEST_CASE("No rank waits for a rank that computes") {
    for (const bool mail : {false, true}) {
        const int ranks = 4;
        std::atomic<int> ended = 0;
        check_all(ranks, [&](World& world) -> std::string {
            const Neighbours all = connected_graphs(ranks, 1)[2];
            const std::vector<int>& near = all[static_cast<size_t>(world.rank())];
            const arena::Buffer x(arena::DType::float32, world.rank(), 1, 4096);
            const auto compute = [&] {
                const base::Stopwatch watch;
                while (world.rank() == 1 && ended < ranks - 1 && watch.seconds() < 20) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
                return world.rank() != 1 || ended == ranks - 1 ? "" : "they wait for it";
            };
            std::string problems;
            const auto go = [&](Service& service, const std::function<void(int64_t)>& iterate) {
                service.begin(0, 9);
                for (int64_t t = 0; service.may_begin(t, false); ++t) {
                    iterate(t);
                    problems += compute();
                }
                ++ended;
                service.finish_span();
                service.close();
            };
            if (mail) {
                RunningService<Mailbox> mailbox(world, 4096, near, near);
                go(*mailbox, [&](int64_t t) { mailbox->publish(x.rows().data, t); });
            } else {
                RunningService<PairAveraging> pairs(world, x.rows(), near);
                go(*pairs, [&](int64_t t) {
                    pairs->request(near[static_cast<size_t>(t) % near.size()]);
                    pairs->finish();
                });
            }
            return problems;
        });
    }
}

TEST_CASE("Ranks wait for a slow rank beyond the deadline as long as it makes progress") {
    const Environment limit("DBENCH_TIMEOUT", "0.5");
    check_all(3, [](World& world) -> std::string {
        const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
        RunningService<PairAveraging> pairs(world, x.rows(), std::vector<int>{});
        pairs->begin(0, 10);
        for (int64_t t = 0; pairs->may_begin(t, false); ++t) {
            if (world.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(120));
        }
        pairs->finish_span();
        pairs->close();
        return "";
    });
}

TEST_CASE("A rank that never reaches the end is named") {
    const Environment limit("DBENCH_TIMEOUT", "0.3");
    const auto outcome = play(3, [](World& world) -> std::string {
        const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
        RunningService<PairAveraging> pairs(world, x.rows(), std::vector<int>{});
        pairs->begin(0, 1);
        if (world.rank() == 2) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2700));
            world.impl().failed = true;
            return "";
        }
        pairs->may_begin(0, false);
        pairs->finish_span();
        return "all have come";
    });
    for (const int rank : {0, 1}) {
        CHECK_THAT(outcome[rank], Catch::Matchers::ContainsSubstring("no answer from rank 2"));
    }
}

TEST_CASE("The wait of a rank rethrows the failure of its service") {
    const Environment limit("DBENCH_TIMEOUT", "0.3");
    const auto outcome = play(
        2,
        [](World& world) -> std::string {
            const arena::Buffer x(arena::DType::float32, world.rank(), 1, 16);
            RunningService<PairAveraging> pairs(world, x.rows(), std::vector{1 - world.rank()});
            pairs->begin(0, 100);
            try {
                for (int64_t t = 0; pairs->may_begin(t, false); ++t) {
                    pairs->request(1 - world.rank());
                    pairs->finish();
                }
                return "it goes on";
            } catch (const base::RunError& error) {
                world.impl().failed = true;
                return error.what();
            }
        },
        [](Membership& member) {
            if (member.rank == 1) {
                member.rows = std::make_unique<BreakingRows>(std::move(member.rows), 12);
            }
        });
    CHECK(outcome[1] == "the cable is cut");
    CHECK_THAT(outcome[0], Catch::Matchers::ContainsSubstring("no answer from rank 1"));
}

}  // namespace dbench::comm::tests
