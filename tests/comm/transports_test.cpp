// The messages that move over the transports, and runs whose transports are slow or fail.

#include <bit>

#include "catch.hpp"
#include "comm/counting_transports.hpp"
#include "comm/environment.hpp"
#include "comm/faulty_transports.hpp"
#include "comm/groups/group_mean.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/moment_checks.hpp"

namespace dbench::comm::tests {
namespace {

constexpr graphs::Round kRound{0, true};

struct Sent {
    int64_t messages = 0, bytes = 0;
    bool operator==(const Sent&) const = default;
};

/// Returns the messages of float32 rows that a mixing plan prescribes for a rank.
Sent planned(const MixingPlan& plan, arena::Columns columns) {
    Sent sent;
    const auto add = [&](int64_t messages, arena::Columns part) {
        if (part.count() == 0) return;
        sent.messages += messages;
        sent.bytes += messages * part.count() * 4;
    };
    for (const RankRows& peer : plan.send) add(static_cast<int64_t>(peer.rows.size()), columns);
    for (const GroupPlan& group : plan.groups) {
        const auto parts = static_cast<int64_t>(group.parts.size());
        const auto nodes = static_cast<int64_t>(group.parts[group.me].nodes.size());
        for (int64_t part = 0; part < parts; ++part) {
            if (part == group.me) continue;
            add(nodes, cut(columns, parts, part));  // scatter
            add(1, cut(columns, parts, group.me));  // gather
        }
    }
    return sent;
}

/// Counters of both transports, one pair per rank.
struct Counters {
    explicit Counters(int ranks) : rows(ranks), control(ranks) {}
    Dress dress() {
        return [this](Membership& member) {
            member.rows = std::make_unique<CountingRows>(std::move(member.rows), rows[member.rank]);
            member.control =
                std::make_unique<CountingControl>(std::move(member.control), control[member.rank]);
        };
    }
    static Sent sent(const Traffic& traffic) { return {traffic.messages, traffic.bytes}; }

    std::vector<Traffic> rows, control;
};

/// Returns the rows that each rank sends in one mixing round. Checks that no control message
/// belongs to it.
std::vector<Sent> counted(const DenseSchedule& schedule, const arena::Layout& layout, int ranks) {
    Counters counters(ranks);
    std::vector<Sent> sent(static_cast<size_t>(ranks));
    for (const std::string& problem : play(
             ranks,
             [&](World& world) -> std::string {
                 const Placement placement{schedule.size(), ranks};
                 const int me = world.rank();
                 Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible);
                 const arena::Buffer x = replicas(layout, arena::DType::float32,
                                                  placement.begin(me), placement.count(me));
                 exchange.finish_mix(exchange.start_mix(kRound, x.rows(), layout.all()), x.rows());
                 sent[me] = Counters::sent(counters.rows[me]);
                 return counters.control[me].messages == 0 ? "" : "control has carried something";
             },
             counters.dress())) {
        CHECK(problem == "");
    }
    return sent;
}

}  // namespace

TEST_CASE("A mix sends the messages of its plan") {
    const arena::Layout layout = awkward_layout();
    for (const int n : {4, 6, 9}) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            const std::vector<Sent> sent = counted(schedule, layout, 4);
            for (int rank = 0; rank < 4; ++rank) {
                const MixingPlan plan = make_mixing_plan(schedule, kRound, {n, 4}, rank);
                CHECK(sent[rank] == planned(plan, layout.all()));
            }
        }
    }
}

TEST_CASE("With one replica per rank, the messages of all ranks add up to the round's cost") {
    const arena::Layout layout = awkward_layout();
    const int n = 7;
    for (const DenseSchedule& schedule : all_schedules(n)) {
        const RoundCost cost = round_cost(schedule, kRound);
        Sent all;
        for (const Sent& sent : counted(schedule, layout, n)) {
            all.messages += sent.messages;
            all.bytes += sent.bytes;
        }
        CHECK(all.messages == cost.messages);
        CHECK(static_cast<double>(all.bytes) ==
              Approx(cost.rows * static_cast<double>(layout.columns()) * 4));
    }
}

TEST_CASE("Moments report the bytes that a rank has sent") {
    const arena::Layout layout = awkward_layout();
    Counters counters(3);
    for (const std::string& problem : play(
             3,
             [&](World& world) -> std::string {
                 const Placement placement{8, 3};
                 const int me = world.rank();
                 Exchange exchange(world, placement, layout, nullptr, Reduction::reproducible);
                 const arena::Buffer x = replicas(layout, arena::DType::float32,
                                                  placement.begin(me), placement.count(me));
                 const SecondMoments spread = exchange.moments(x.rows(), nullptr);
                 const Traffic& traffic = counters.rows[me];
                 return spread.bytes > 0 && static_cast<int64_t>(spread.bytes) == traffic.bytes
                            ? ""
                            : "other bytes";
             },
             counters.dress())) {
        CHECK(problem == "");
    }
}

TEST_CASE("A short text is sent as one packet per branch of the tree, without row messages") {
    for (const int ranks : {1, 2, 5, 8}) {
        Counters counters(ranks);
        std::vector<Sent> sent(static_cast<size_t>(ranks));
        for (const std::string& problem : play(
                 ranks,
                 [&](World& world) -> std::string {
                     world.barrier();  // up the tree, and down
                     sent[world.rank()] = Counters::sent(counters.control[world.rank()]);
                     return counters.rows[world.rank()].messages == 0 ? "" : "rows were used";
                 },
                 counters.dress())) {
            CHECK(problem == "");
        }
        int64_t messages = 0, most = 0;
        for (const Sent& rank : sent) {
            messages += rank.messages;
            most = std::max(most, rank.messages);
            CHECK(rank.bytes <= rank.messages * 100);
        }
        CHECK(messages == 2 * (ranks - 1));
        CHECK(most <= std::bit_width(static_cast<unsigned>(ranks - 1)));
    }
}

TEST_CASE("Rows that arrive late and in any order give the same bits") {
    const arena::Layout layout = awkward_layout();
    const int n = 9, ranks = 4;
    for (const uint64_t seed : {1, 2, 3}) {
        const Dress late = [&](Membership& member) {
            const uint64_t mine = 100 * seed + static_cast<uint64_t>(member.rank);
            member.rows = std::make_unique<DelayedRows>(std::move(member.rows), mine, 2e-3);
        };
        for (const DenseSchedule& schedule : all_schedules(n)) {
            const arena::Buffer expected = mixed_alone(schedule, layout, arena::DType::float32);
            for (const std::string& problem : play(
                     ranks,
                     [&](World& world) {
                         return check_mixing(world, schedule, layout, arena::DType::float32,
                                             expected);
                     },
                     late)) {
                CHECK(problem == "");
            }
        }
        const arena::Buffer mean = mixed_alone(complete(n), layout, arena::DType::float64);
        World solitary{alone()};
        const MomentsSeen moments = moments_of(solitary, n, layout, arena::DType::float64);
        for (const std::string& problem : play(
                 ranks,
                 [&](World& world) {
                     return check_all_reduce(world, n, layout, arena::DType::float64, mean) +
                            check_moments(world, n, layout, arena::DType::float64, moments);
                 },
                 late)) {
            CHECK(problem == "");
        }
    }
}

namespace {

/// Returns the errors of four ranks if the transports of rank `broken` fail. Ranks behave as the
/// program does. Checks that all end in time.
std::vector<std::string> ends_of_broken(int broken, const Dress& breaks) {
    const Environment timeout("DBENCH_TIMEOUT", "0.5");
    const arena::Layout layout = awkward_layout();
    const double start = base::now();
    const auto ends = play(
        4,
        [&](World& world) -> std::string {
            const int me = world.rank();
            const arena::Buffer x = replicas(layout, arena::DType::float32, me, 1);
            Exchange exchange(world, {4, 4}, layout, nullptr, Reduction::reproducible);
            try {
                for (int iteration = 0; iteration < 100; ++iteration) {
                    world.check_failures();
                    world.barrier();
                    exchange.finish_all_reduce(exchange.start_all_reduce(x.rows(), layout.all()));
                }
            } catch (const base::RunError& error) {
                world.report_failure(error.what());
                return error.what();
            }
            return "nobody noticed";
        },
        [&](Membership& member) {
            if (member.rank == broken) breaks(member);
        });
    CHECK(base::now() - start < 20);
    return ends;
}

void break_rows(Membership& member) {  // fails in the second step of the third all-reduce
    member.rows = std::make_unique<BreakingRows>(std::move(member.rows), 5);
}
void break_control(Membership& member) {
    member.control = std::make_unique<BreakingControl>(std::move(member.control), 5);
}

}  // namespace

TEST_CASE("A failed transport fails its rank, and no rank hangs") {
    using Catch::Matchers::ContainsSubstring;
    for (const auto& breaks : {break_rows, break_control}) {
        const auto ends = ends_of_broken(2, breaks);
        CHECK(ends[0] == "rank 2 failed: the cable is cut");
        CHECK(ends[2] == "the cable is cut");
        for (const int other : {1, 3}) CHECK_THAT(ends[other], ContainsSubstring("no answer from"));
    }
    CHECK(ends_of_broken(0, break_rows)[0] == "the cable is cut");
}

}  // namespace dbench::comm::tests
