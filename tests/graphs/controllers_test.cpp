// Controllers with scripted measurements, and the traffic of a budget.

#include <cmath>
#include <limits>
#include <set>

#include "staged.hpp"

using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

/// Passes scripted measurements to a controller, from one measured iteration to the next.
class Script {
public:
    explicit Script(StagedSchedule& controller) : controller_(controller) {}

    /// Returns the degree after the next check, which receives `measured`.
    double operator()(const std::vector<double>& measured) {
        do ++t;
        while (!controller_.is_measured(t));
        controller_.decide(t, measured);
        return degree(controller_, t + 1);
    }

    int64_t t = -1;  ///< iteration of the last check

private:
    StagedSchedule& controller_;
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const RunFacts kNone{};

}  // namespace

TEST_CASE("ada_variance follows its band with hysteresis") {
    const char* spec = R"({"type": "ada_variance", "relative": false, "low": 1, "high": 2,
                           "patience": 2, "every": {"iterations": 5}, "k0": 6, "k_min": 2,
                           "k_max": 8})";
    const auto control = staged(spec, 16);
    CHECK(degree(*control, 0) == 6);
    Script next(*control);
    for (const auto& [value, after] : {std::pair{3.0, 6},  // one check above the band is not enough
                                       {3.0, 8},           // two are
                                       {3.0, 8},
                                       {3.0, 8},  // k_max
                                       {0.5, 8},
                                       {1.5, 8},  // inside the band: counting restarts
                                       {0.5, 8},
                                       {0.5, 6},
                                       {kNan, 6},  // ignored
                                       {0.5, 6},
                                       {0.5, 4},
                                       {0.5, 4},
                                       {0.5, 2},
                                       {0.5, 2},
                                       {0.5, 2}}) {  // k_min
        const double before = degree(*control, next.t + 1);
        CHECK(next({value, value}) == after);
        CHECK((next.t + 1) % 5 == 0);
        CHECK(degree(*control, next.t) == before);
    }
    CHECK(control->stages().size() == 5);
    CHECK_THAT(control->stages()[1].reason, ContainsSubstring("above 2"));

    const auto copy = staged(spec, 16);
    copy->restore(control->save());
    for (int64_t t = 0; t < next.t + 20; ++t) {
        CHECK(copy->at(t).matrix == control->at(t).matrix);
    }
    CHECK(copy->save() == control->save());
}

TEST_CASE("ada_variance relative to its maximum, aggregated over tensors") {
    for (const auto& [aggregate, seen] :
         {std::pair{"mean", "1.333"}, {"median", "1"}, {"max", "3"}}) {
        const auto control = staged(R"({"type": "ada_variance", "low": 0.5, "high": 0.9, "k0": 4,
                                        "k_max": 8, "patience": 1, "every": {"iterations": 1},
                                        "aggregate": ")" +
                                        std::string(aggregate) + "\"}",
                                    16, kNone);
        Script next(*control);
        CHECK(next({0, 3, 1}) == 6);  // its own maximum, so above the band
        CHECK_THAT(control->stages().back().reason,
                   ContainsSubstring(std::string("variation ") + seen + ","));
        CHECK(next({0.1, 0.1, 0.1}) == 4);
    }
}

TEST_CASE("The median of an even number of tensors is the mean of the middle two") {
    const auto control = staged(R"({"type": "ada_variance", "aggregate": "median",
                                    "relative": false, "low": 1.5, "high": 2.5, "patience": 1,
                                    "k0": 4, "k_max": 8, "every": {"iterations": 1}})",
                                16, kNone);
    Script next(*control);
    CHECK(next({3, 0, 1, 4}) == 4);  // 2, inside the band; the upper middle value is outside
    CHECK(next({3, kNan, 0, 0}) == 4);
    CHECK(next({0, 3, 0, 4}) == 4);  // 1.5
    CHECK(next({1, 4, 0, 1}) == 2);  // 1
    CHECK_THAT(control->stages().back().reason, ContainsSubstring("variation 1 below"));
}

TEST_CASE("consensus_control raises the degree above the target and lowers it well below") {
    const auto control = staged(R"({"type": "consensus_control", "by": "degree", "target": 1,
                                    "k_max": 6, "slack": 0.5})",
                                16);
    CHECK(degree(*control, 0) == 2);
    Script next(*control);
    for (const auto& [distance, after] :
         {std::pair{2.0, 4}, {2.0, 6}, {2.0, 6}, {0.8, 6}, {0.4, 4}, {0.4, 2}, {0.4, 2}}) {
        CHECK(next({distance}) == after);
    }
    CHECK_FALSE(control->may_repeat(0));
}

TEST_CASE("consensus_control repeats rounds up to the target or a fraction of the maximum") {
    const auto fixed = staged(R"({"type": "consensus_control", "target": 1, "max_rounds": 3})", 16);
    CHECK(fixed->may_repeat(0));
    CHECK(fixed->mix_again(0, 1, 5, 2));
    CHECK_FALSE(fixed->mix_again(0, 2, 5, 0.9));
    CHECK_FALSE(fixed->mix_again(0, 3, 5, 2));
    const auto relative = staged(R"({"type": "consensus_control", "fraction": 0.25})", 16);
    CHECK(relative->mix_again(0, 1, 4, 1.1));
    CHECK_FALSE(relative->mix_again(0, 2, 4, 0.9));
    CHECK_FALSE(relative->mix_again(1, 1, 0.5, 0.4));  // the maximum is still 4
    CHECK_THAT(failure(R"({"type": "consensus_control", "graph": "one_peer_exponential"})", 8),
               ContainsSubstring("is a sequence"));
}

TEST_CASE("participation leaves out as many of the slowest replicas as its fraction says") {
    const auto control = staged(R"({"type": "participation", "graph": "complete",
                                    "policy": "slowest", "fraction": 0.5,
                                    "every": {"iterations": 3}})",
                                6);
    CHECK(degree(*control, 0) == 5);
    Script next(*control);
    next({1, 9, 2, 8, 3, 7});
    for (int i = 0; i < 6; ++i) {
        INFO("replica " << i);
        const size_t peers = i % 2 == 0 ? 3 : 1;  // with itself
        CHECK(control->in(control->at(next.t + 1), i).size() == peers);
    }
    CHECK_THAT(control->stages().back().reason, ContainsSubstring("left out as slowest: 1 3 5"));
    CHECK_THAT(failure(R"({"type": "participation", "policy": "slowest", "fraction": 0.1})", 8),
               ContainsSubstring("at least two replicas"));
}

TEST_CASE("budget spends the same bytes early, late and evenly") {
    const int n = 16;
    const RunFacts run{{100, 10, 1}, 40};
    const auto spent = [&](const std::string& order, const std::string& total) {
        return degrees(*made(R"({"type": "budget", "dense": {"type": "ring_lattice", "k": 10},
                                 "order": ")" +
                                 order + "\", " + total + "}",
                             n, run));
    };
    std::set<double> totals;
    for (const std::string order : {"dense_first", "dense_last", "uniform"}) {
        const std::vector<double> models = spent(order, R"("models": 5)");
        CHECK(spent(order, R"("bytes": )" + std::to_string(5 * n * 40 * 100)) == models);
        double total = 0;
        for (const double one : models) total += one;
        totals.insert(total);
        CHECK(std::abs(total / 100 - 5) <= 8.0 / 100);
        if (order == "uniform") {
            for (size_t t = 0; t + 3 <= models.size(); ++t) {
                const double some = models[t] + models[t + 1] + models[t + 2];
                CHECK((some > 6 && some < 30));
            }
        } else {
            CHECK(models.front() == (order == "dense_first" ? 10 : 2));
            CHECK(models.back() == (order == "dense_first" ? 2 : 10));
        }
    }
    CHECK(totals.size() == 1);
}

TEST_CASE("a budget that cannot be spent names the possible range") {
    CHECK_THAT(failure(R"({"type": "budget", "models": 100})"),
               ContainsSubstring("cannot be spent"));
    CHECK_THAT(failure(R"({"type": "budget"})", 8),  // k = 10 on 8 replicas
               ContainsSubstring("/dense: ring_lattice k=10 sends 1.75") &&
                   ContainsSubstring("with 8 replicas it is the complete graph") &&
                   ContainsSubstring("use k = 6"));
    CHECK(failure(R"({"type": "budget", "dense": {"type": "ring_lattice", "k": 6}})", 8).empty());
    CHECK_THAT(failure(R"({"type": "budget"})", 4), ContainsSubstring("use another dense graph"));
}

TEST_CASE("a graph that is used again continues where it stopped") {
    const auto budget = made(R"({"type": "budget", "order": "uniform", "models": 3,
                                 "dense": {"type": "ring_lattice", "k": 6},
                                 "sparse": "one_peer_exponential"})",
                             16, {{60, 10, 1}, 4});
    int64_t sparse = 0;
    for (int64_t t = 0; t < 60; ++t) {
        if (degree(*budget, t) != 1) continue;
        CHECK(budget->in(budget->at(t), 0)[1].peer == 16 - (1 << (sparse++ % 4)));
    }
    CHECK(sparse == 36);
}
