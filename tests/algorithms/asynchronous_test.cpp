// Tests of asynchronous algorithms in virtual time, with a quadratic loss instead of a model.

#include <cmath>

#include "algorithms/stepper_run.hpp"
#include "base/random.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;
using Catch::Matchers::WithinAbs;
using tests::kReplicas;

/// Eight replicas with normally distributed parameters.
struct AsyncRun : tests::Run {
    AsyncRun(comm::World& world, const Json& algorithm, const char* graph)
        : tests::Run(world,
                     *base::find_entry(algorithm_table(), algorithm.at("type").get<std::string>()),
                     resolve_algorithm(algorithm), resolve_optimizer("sgd", "/optimizer"),
                     graphs::make_graph(graph, {kReplicas, 1})) {
        stepper->attach(table, g.rows());
        base::Random random(1, base::Purpose::regression, {});
        for (int64_t i = 0; i < kReplicas; ++i) {
            for (int64_t c = 0; c < tests::kParameters; ++c) {
                x.row<float>(i)[c] = static_cast<float>(random.normal());
            }
        }
    }

    std::vector<IterationRecord> advance(int64_t end, double lr) {
        const ComputeTimes times(stepper->algorithm().asynchronous()->pace());
        // The gradient of ||x||^2 / 2.
        const auto gradient = [&](const Turn& turn, arena::Rows at, IterationRecord&) {
            arena::copy(at.only(turn.replica), g.rows().only(turn.replica), layout.all());
            sum += lr * of(at, turn.replica);
        };
        return stepper->advance({0, end, times, [lr](int64_t) { return lr; }, gradient});
    }

    static double of(const arena::Rows& rows, int64_t i) {
        double out = 0;
        for (int64_t c = 0; c < tests::kParameters; ++c) out += rows.row<float>(i)[c];
        return out;
    }
    double all() const {
        double out = 0;
        for (int64_t i = 0; i < kReplicas; ++i) out += of(x, i);
        return out;
    }
    double distance() const {
        double out = 0;
        for (int64_t c = 0; c < tests::kParameters; ++c) {
            double low = x.row<float>(0)[c], high = low;
            for (int64_t i = 1; i < kReplicas; ++i) {
                low = std::min<double>(low, x.row<float>(i)[c]);
                high = std::max<double>(high, x.row<float>(i)[c]);
            }
            out = std::max(out, high - low);
        }
        return out;
    }

    double sum = 0;  ///< Sum of lr times all applied gradients.
};

}  // namespace

TEST_CASE("The averagings of ad_psgd conserve the sum and reduce the distance on any graph") {
    comm::World world{comm::alone()};
    for (const char* graph : {"ring", "complete", "star", "random_matching"}) {
        INFO(graph);
        AsyncRun run(world, {{"type", "ad_psgd"}, {"jitter", 0.9}}, graph);
        const double before = run.all();
        run.advance(60, 0);
        CHECK_THAT(run.all() - before, WithinAbs(0, 0.2));  // Sum of 262144 numbers in float32.
        CHECK(run.distance() < 0.5);
    }
}

TEST_CASE("With ad_psgd only the gradients change the sum over replicas") {
    comm::World world{comm::alone()};
    AsyncRun run(world, {{"type", "ad_psgd"}, {"jitter", 0.9}}, "ring");
    const double before = run.all();
    run.advance(20, 0.1);
    CHECK(std::abs(run.sum) > 10);
    CHECK_THAT(run.all() - (before - run.sum), WithinAbs(0, 0.2));
}

TEST_CASE("swift reduces the distance between replicas but does not conserve their mean") {
    comm::World world{comm::alone()};
    AsyncRun run(world, {{"type", "swift"}, {"jitter", 0.9}}, "ring");
    const double before = run.all();
    run.advance(80, 0);
    CHECK(run.distance() < 0.5);
    CHECK(std::abs(run.all() - before) > 1);
}

TEST_CASE("An asynchronous span has one record per iteration and a time for each replica") {
    comm::World world{comm::alone()};
    AsyncRun run(world, {{"type", "ad_psgd"}, {"jitter", 0.5}, {"gradient_seconds", 0.25}}, "ring");
    const auto records = run.advance(12, 0.1);
    REQUIRE(records.size() == 12);
    int64_t averagings = 0;
    double total_staleness = 0;
    for (size_t t = 0; t < records.size(); ++t) {
        CHECK(records[t].iteration == static_cast<int64_t>(t));
        averagings += records[t].messages / 2;
        for (size_t i = 0; i < kReplicas; ++i) {
            total_staleness += records[t].staleness[i];
            const double begun = t == 0 ? 0 : records[t - 1].replica_time[i];
            const double took = records[t].replica_time[i] - begun;
            CHECK((took >= 0.125 - 1e-12 && took < 0.375 + 1e-12));
        }
    }
    // Both replicas of an averaging count it, except replicas that have ended all their iterations.
    CHECK(total_staleness <= 2.0 * static_cast<double>(averagings));
    CHECK(total_staleness > 1.5 * static_cast<double>(averagings));
    CHECK(run.stepper->algorithm().asynchronous() != nullptr);
}

}  // namespace dbench::algorithms
