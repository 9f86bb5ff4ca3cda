#include "catch.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/plans/mixing_plan.hpp"

namespace dbench::comm::tests {
namespace {

constexpr arena::DType kMixingTypes[] = {arena::DType::float32, arena::DType::float64};

}  // namespace

TEST_CASE("Mixing equals the dense product") {
    const arena::Layout layout = awkward_layout();
    for (int n = 1; n <= 9; ++n) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            for (const arena::DType type : kMixingTypes) {
                const arena::Buffer out = mixed_alone(schedule, layout, type);
                const double tolerance = type == arena::DType::float32 ? 4e-7 * n : 5e-16 * n;
                CHECK(against_dense(schedule, layout, out.rows(), tolerance) == "");
            }
        }
    }
}

TEST_CASE("Mixing gives the same bits on any number of ranks, by any route") {
    const arena::Layout layout = awkward_layout();
    for (const int n : {1, 2, 3, 4, 5, 8, 9}) {
        for (const DenseSchedule& schedule : all_schedules(n)) {
            for (const arena::DType type : kMixingTypes) {
                const arena::Buffer expected = mixed_alone(schedule, layout, type);
                for (int ranks = 1; ranks <= std::min(n, 4); ++ranks) {
                    for (const std::string& problem : play(ranks, [&](World& world) {
                             return check_mixing(world, schedule, layout, type, expected);
                         })) {
                        CHECK(problem == "");
                    }
                }
            }
        }
    }
}

TEST_CASE("The blocking exchange gives the same bits in many tiles") {
    arena::Layout layout;
    layout.add("long", {2'200'001}, arena::TensorKind::weight);  // three tiles
    const DenseSchedule schedule = arbitrary(4, 3);
    const arena::Buffer expected = mixed_alone(schedule, layout, arena::DType::float32);
    for (const std::string& problem : play(2, [&](World& world) {
             return check_mixing(world, schedule, layout, arena::DType::float32, expected);
         })) {
        CHECK(problem == "");
    }
}

TEST_CASE("An all-reduce leaves the same bits in all rows on any number of ranks") {
    const arena::Layout layout = awkward_layout();
    for (const int n : {1, 2, 3, 5, 8, 13}) {
        for (const arena::DType type : kMixingTypes) {
            // The complete graph's mixing is the same mean along the same tree.
            const arena::Buffer expected = mixed_alone(complete(n), layout, type);
            for (int64_t i = 1; i < n; ++i) {
                CHECK(std::memcmp(expected.rows().at(0, 0), expected.rows().at(i, 0),
                                  static_cast<size_t>(expected.bytes() / n)) == 0);
            }
            for (int ranks = 1; ranks <= std::min(n, 4); ++ranks) {
                for (const std::string& problem : play(ranks, [&](World& world) {
                         return check_all_reduce(world, n, layout, type, expected);
                     })) {
                    CHECK(problem == "");
                }
            }
        }
    }
}

TEST_CASE("Doubly stochastic mixing conserves the mean") {
    const arena::Layout layout = awkward_layout();
    const int n = 9;
    const arena::Buffer before = replicas(layout, arena::DType::float64, 0, n);
    for (const DenseSchedule& schedule : {circulant(n, {1, -1}), groups_and_path(n), complete(n)}) {
        const arena::Buffer after = mixed_alone(schedule, layout, arena::DType::float64);
        for (int64_t c = 0; c < layout.columns(); c += 53) {
            double difference = 0, size = 0;
            for (int64_t i = 0; i < n; ++i) {
                difference += get(after.rows(), i, c) - get(before.rows(), i, c);
                size += std::abs(get(before.rows(), i, c));
            }
            CHECK(std::abs(difference) <= 1e-14 * size);
        }
    }
}

TEST_CASE("A row is sent once to a rank, however many replicas of that rank use it") {
    // Two ranks of four replicas; every replica uses replica 0: one row in one message.
    const int n = 8;
    Matrix w = identity(n);
    for (int i = 1; i < n; ++i) w[i][0] = w[i][i] = 0.5;
    const DenseSchedule star(w);
    const Placement placement{n, 2};
    const MixingPlan from = make_mixing_plan(star, {0, true}, placement, 0);
    const MixingPlan to = make_mixing_plan(star, {0, true}, placement, 1);
    REQUIRE(from.send.size() == 1);
    CHECK(from.send[0].rows == std::vector<int64_t>{0});
    CHECK(from.receive.empty());
    CHECK(to.send.empty());
    REQUIRE(to.receive.size() == 1);
    CHECK(to.received_rows == 1);

    const arena::Layout layout = awkward_layout();
    const auto bytes = play(2, [&](World& world) {
        Exchange exchange(world, placement, layout, &star, Reduction::reproducible);
        return std::to_string(exchange.receive_bytes({0, true}));
    });
    CHECK(bytes[0] == "0");
    CHECK(bytes[1] == std::to_string(4 * layout.columns()));
}

}  // namespace dbench::comm::tests
