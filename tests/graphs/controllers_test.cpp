// Lists and controllers on scripted measurements.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "catch.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"

using namespace dbench;
using namespace dbench::graphs;
using base::Json;

namespace {

struct Made {
    std::unique_ptr<Schedule> schedule;
    Staged& staged;
};

Made make(const char* spec, int n, RunFacts run = {100, 10, 1, 4}) {
    auto schedule = make_graph(Json::parse(spec), {n, 1, run});
    auto& staged = dynamic_cast<Staged&>(*schedule);
    return {std::move(schedule), staged};
}

/// Mean degree without self in iteration t.
double degree(const Schedule& schedule, int64_t t) {
    double links = 0;
    for (int i = 0; i < schedule.size(); ++i) {
        links += static_cast<double>(schedule.out(schedule.at(t), i).size()) - 1;
    }
    return links / schedule.size();
}

std::string failure(const char* spec, int n) {
    try {
        make(spec, n);
    } catch (const base::UserError& e) {
        return e.what();
    }
    return "";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ada over very many epochs takes as long as over few") {
    const char* spec = R"({"type": "ada", "k0": 10, "k_min": 2, "gamma_k": 1e-8})";
    const auto made = make(spec, 16, {{1'000'000'000, 1, 1}, 4});
    const auto stages = made.staged.stages();
    REQUIRE(stages.size() == 5);
    CHECK(degree(made.staged, 0) == 10);
    for (size_t k = 1; k < stages.size(); ++k) {
        CHECK(degree(made.staged, stages[k].first - 1) == double(12 - 2 * k));
        CHECK(degree(made.staged, stages[k].first) == double(10 - 2 * k));
    }
    CHECK(degree(made.staged, 999'999'999) == 2);
}

TEST_CASE("a list goes from graph to graph, each from its own round 0") {
    const auto made = make(R"([{"type": "ring_lattice", "k": 4, "until": {"epochs": 3}},
                               {"type": "one_peer_exponential", "until": {"iterations": 40}},
                               "complete"])",
                           16);
    const Schedule& s = made.staged;
    CHECK(degree(s, 0) == 4);
    CHECK(degree(s, 29) == 4);
    CHECK(s.at(0).matrix == s.at(29).matrix);
    for (int64_t t = 30; t < 40; ++t) {
        CHECK(degree(s, t) == 1);
        CHECK(s.in(s.at(t), 0)[1].peer == 16 - (1 << ((t - 30) % 4)));
    }
    CHECK(degree(s, 40) == 15);
    CHECK(s.groups(s.at(40)).size() == 1);
    CHECK(degree(s, 1000000) == 15);
}

TEST_CASE("a list's mistakes are said") {
    CHECK(contains(failure("[]", 4), "empty list"));
    CHECK(contains(failure(R"(["ring", "star"])", 4), "/graph/0: has no \"until\""));
    CHECK(contains(failure(R"([{"type": "ring", "until": {"epochs": 1}}])", 4), "/graph/0/until"));
    CHECK(contains(failure(R"([{"type": "ring", "until": {"epochs": 2}},
                               {"type": "torus", "until": {"epochs": 1}}, "star"])",
                           4),
                   "/graph/1/until: iteration 10 is not after"));
    CHECK(contains(failure(R"([{"type": "ring", "until": {"days": 2}}, "star"])", 4), "until"));
}

TEST_CASE("a list takes over the plan of a graph that changes by itself") {
    for (const char* between : {R"({"type": "complete", "until": {"epochs": 5}},)", ""}) {
        const std::string spec =
            R"([{"type": "ada", "k0": 4, "gamma_k": 2, "until": {"epochs": 4}},)" +
            std::string(between) + R"("ring"])";
        const auto made = make(spec.c_str(), 16);
        for (int64_t t = 0; t < 100; ++t) {
            const bool complete = *between != 0 && t >= 40 && t < 50;
            CHECK(degree(made.staged, t) == (t < 10 ? 4 : complete ? 15 : 2));
        }
        CHECK(made.staged.stages().size() == (*between != 0 ? 4 : 3));
        CHECK(made.staged.stages()[1].reason == "epoch 1");
    }
    // By the epochs of the run, not from where the list comes to it.
    const auto late = make(R"([{"type": "star", "weights": "metropolis", "until": {"epochs": 3}},
                               {"type": "ada", "k0": 8, "gamma_k": 1}])",
                           16);
    CHECK(degree(late.staged, 30) == 6);  // k(3) = 5
    CHECK(degree(late.staged, 60) == 2);
    CHECK(late.staged.stages()[1].first == 30);
}

TEST_CASE("what decides during the run, or over all of it, is no part of another graph") {
    for (const char* deciding :
         {R"({"type": "ada_variance")", R"({"type": "consensus_control", "by": "degree")",
          R"({"type": "consensus_control")", R"({"type": "participation", "policy": "slowest")"}) {
        const std::string graph = deciding;
        CHECK(contains(failure(("[" + graph + R"(, "until": {"epochs": 1}}, "ring"])").c_str(), 16),
                       "/graph/0: decides during the run"));
        const std::string outer = R"({"type": "hierarchical", "gpus_per_node": 2, "outer": )";
        CHECK(contains(failure((outer + graph + "}}").c_str(), 16), "/graph/outer: decides"));
        CHECK(
            contains(failure((R"({"type": "participation", "graph": )" + graph + "}}").c_str(), 16),
                     "/graph/graph: decides"));
        CHECK(contains(failure((R"({"type": "budget", "dense": )" + graph + "}}").c_str(), 16),
                       "/graph/dense: "));
    }
    CHECK(contains(failure(R"([{"type": "budget", "dense": {"type": "ring_lattice", "k": 6},
                                "until": {"epochs": 1}}, "ring"])",
                           16),
                   "/graph/0: spends a total over the whole run"));
    CHECK(contains(failure(R"({"type": "budget", "dense": {"type": "ada", "k0": 8}})", 16),
                   "/graph/dense: ada sends more at some times than at others"));
    CHECK(contains(failure(R"({"type": "participation", "policy": "slowest", "graph": "ada"})", 16),
                   "/graph/graph: goes from graph to graph"));
}

TEST_CASE("a level of a hierarchy that changes does so by the run's epochs") {
    const auto made = make(R"({"type": "hierarchical", "gpus_per_node": 2,
                               "outer": {"type": "ada", "k0": 6, "gamma_k": 1}})",
                           16);
    for (int64_t t = 0; t < 100; ++t) {
        const double k = std::max(6 - double(t / 10), 2.0);
        CHECK(degree(made.staged, t) == 2 * (2 * std::ceil(k / 2) + 1) - 1);
    }
    CHECK(made.staged.at(0).matrix == made.staged.at(9).matrix);
    CHECK(made.staged.name(0) == "ring_lattice k=6 (x) complete");
    const auto both = make(R"({"type": "hierarchical", "gpus_per_node": 4,
                               "inner": [{"type": "complete", "until": {"epochs": 3}}, "ring"],
                               "outer": [{"type": "complete", "until": {"epochs": 5}}, "ring"]})",
                           16);
    CHECK(degree(both.staged, 29) == 15);
    CHECK(degree(both.staged, 30) == 11);
    CHECK(degree(both.staged, 50) == 8);
    const auto thinned = make_graph(Json::parse(R"({"type": "participation", "fraction": 1,
                                        "graph": {"type": "ada", "k0": 6, "gamma_k": 1}})"),
                                    {16, 1, {100, 10, 1, 4}});
    CHECK(degree(*thinned, 9) == 6);
    CHECK(degree(*thinned, 19) == 6);
    CHECK(degree(*thinned, 99) == 2);
}

TEST_CASE("ada: k(e) = max(k0 - floor(gamma_k e), k_min), rounded up to even") {
    const auto made = make(R"({"type": "ada", "k0": 9, "gamma_k": 1.5, "k_min": 3})", 24);
    for (int64_t t = 0; t < 100; ++t) {
        const double k = std::max(9 - std::floor(1.5 * static_cast<double>(t / 10)), 3.0);
        CHECK(degree(made.staged, t) == 2 * std::ceil(k / 2));
    }
    CHECK(made.staged.warnings().empty());
}

TEST_CASE("ada: the published scales and a warning where nothing changes") {
    const auto small = make(R"("ada")", 48, {300, 10, 1, 4});
    CHECK(degree(small.staged, 0) == 10);
    REQUIRE(small.staged.warnings().size() == 1);
    CHECK(contains(small.staged.warnings()[0], "in epoch 50;"));
    const auto large = make(R"("ada")", 1008, {300, 10, 1, 4});
    CHECK(degree(large.staged, 0) == 112);
    CHECK(degree(large.staged, 290) == 84);
    CHECK(large.staged.stages().size() == 15);
}

TEST_CASE("ada reversed uses the same graphs, the other way round") {
    const auto plain = make(R"({"type": "ada", "k0": 8, "gamma_k": 1})", 16);
    const auto reversed = make(R"({"type": "ada", "k0": 8, "gamma_k": 1, "reversed": true})", 16);
    for (int64_t t = 0; t < 100; ++t) {
        CHECK(degree(plain.staged, t) == degree(reversed.staged, 99 - t));
    }
}

TEST_CASE("ada reversed sends the same bytes also where the last epoch is a part of one") {
    for (const int64_t iterations : {95, 91, 7}) {
        const RunFacts run{{iterations, 10, 1}, 4};
        const auto plain = make(R"({"type": "ada", "k0": 8, "gamma_k": 1})", 16, run);
        const auto reversed =
            make(R"({"type": "ada", "k0": 8, "gamma_k": 1, "reversed": true})", 16, run);
        for (int64_t t = 0; t < iterations; ++t) {
            CHECK(degree(plain.staged, t) == degree(reversed.staged, iterations - 1 - t));
        }
    }
}

TEST_CASE("ada over other families") {
    const auto exponential =
        make(R"({"type": "ada", "k0": 4, "gamma_k": 1, "k_min": 1, "family": "exponential"})", 12);
    for (int64_t e = 0; e < 10; ++e) {
        const auto k = static_cast<size_t>(std::max<int64_t>(4 - e, 1));
        const auto row = exponential.staged.out(exponential.staged.at(10 * e), 0);
        REQUIRE(row.size() == k + 1);
        for (size_t o = 0; o < k; ++o) CHECK(row[o + 1].peer == 1 << o);
    }
    const auto regular =
        make(R"({"type": "ada", "k0": 7, "gamma_k": 1, "family": "random_regular"})", 15);
    CHECK(degree(regular.staged, 0) == 8);
    CHECK(degree(regular.staged, 90) == 4);
    const auto base =
        make(R"({"type": "ada", "k0": 6, "gamma_k": 5, "k_min": 1, "family": "base_k"})", 24);
    for (size_t g = 0; g < base.staged.graphs(); ++g) {
        CHECK(certify(base.staged.graph(g), "").finite_time.has_value());
    }
}

TEST_CASE("every family's ladder is defined at every n") {
    for (const char* family : {"ring_lattice", "exponential", "random_regular", "base_k"}) {
        for (const int n : {2, 3, 4, 5, 6, 7, 9, 16, 25}) {
            const Json spec{
                {"type", "ada_variance"}, {"family", family}, {"k_min", 1}, {"k_max", 64}};
            const auto schedule = make_graph(spec, {n, 1, {}});
            const auto& staged = dynamic_cast<const Staged&>(*schedule);
            for (size_t g = 0; g < staged.graphs(); ++g) {
                const Sums s = sums(staged.graph(g));
                CHECK((s.rows && s.columns));
                CHECK(certify(staged.graph(g), "").connected);
            }
        }
    }
}

TEST_CASE("ada_variance follows its band with hysteresis") {
    const auto made = make(R"({"type": "ada_variance", "relative": false, "low": 1, "high": 2,
                               "patience": 2, "every": {"iterations": 5}, "k0": 6, "k_min": 2,
                               "k_max": 8})",
                           16);
    Staged& s = made.staged;
    int64_t t = -1;
    const auto check = [&](double value) {  // the next check, which sees `value` in both tensors
        do ++t;
        while (!s.due(t));
        CHECK((t + 1) % 5 == 0);
        const std::vector<double> measured{value, value};
        s.decide(t, measured);
        return degree(s, t + 1);
    };
    CHECK(degree(s, 0) == 6);
    CHECK(check(3.0) == 6);  // once above is not enough
    CHECK(check(3.0) == 8);  // twice is
    CHECK(degree(s, t) == 6);
    CHECK(check(3.0) == 8);
    CHECK(check(3.0) == 8);  // k_max
    CHECK(check(0.5) == 8);
    CHECK(check(1.5) == 8);  // inside of the band: counting starts again
    CHECK(check(0.5) == 8);
    CHECK(check(0.5) == 6);
    CHECK(check(std::nan("")) == 6);  // not a measurement
    CHECK(check(0.5) == 6);
    CHECK(check(0.5) == 4);
    CHECK(check(0.5) == 4);
    CHECK(check(0.5) == 2);
    CHECK(check(0.5) == 2);
    CHECK(check(0.5) == 2);  // k_min
    CHECK(s.stages().size() == 5);
    CHECK(contains(s.stages()[1].reason, "above 2"));

    const auto copy = make(R"({"type": "ada_variance", "relative": false, "low": 1, "high": 2,
                               "patience": 2, "every": {"iterations": 5}, "k0": 6, "k_min": 2,
                               "k_max": 8})",
                           16);
    copy.staged.restore(s.save());
    for (int64_t u = 0; u < t + 20; ++u) CHECK(copy.staged.at(u).matrix == s.at(u).matrix);
    CHECK(copy.staged.save() == s.save());
}

TEST_CASE("ada_variance relative to its maximum, aggregated over tensors") {
    for (const auto& [aggregate, seen] :
         {std::pair{"mean", "1.333"}, std::pair{"median", "1"}, std::pair{"max", "3"}}) {
        const Json spec{{"type", "ada_variance"},
                        {"aggregate", aggregate},
                        {"patience", 1},
                        {"low", 0.5},
                        {"high", 0.9},
                        {"k_max", 8},
                        {"k0", 4},
                        {"every", {{"iterations", 1}}}};
        const auto schedule = make_graph(spec, {16, 1, {}});
        auto& s = dynamic_cast<Staged&>(*schedule);
        s.decide(0, std::vector<double>{0, 3, 1});  // its own maximum: above
        CHECK(degree(s, 1) == 6);
        CHECK(contains(s.stages().back().reason, std::string("variation ") + seen + ","));
        s.decide(1, std::vector<double>{0.1, 0.1, 0.1});
        CHECK(degree(s, 2) == 4);
    }
}

TEST_CASE("The median of an even number of tensors lies between the middle two") {
    const Json spec{{"type", "ada_variance"},
                    {"aggregate", "median"},
                    {"relative", false},
                    {"low", 1.5},
                    {"high", 2.5},
                    {"patience", 1},
                    {"k0", 4},
                    {"k_max", 8},
                    {"every", {{"iterations", 1}}}};
    const auto schedule = make_graph(spec, {16, 1, {}});
    auto& s = dynamic_cast<Staged&>(*schedule);
    s.decide(0, std::vector<double>{3, 0, 1, 4});  // 2, in the band; the upper one is not
    CHECK(degree(s, 1) == 4);
    s.decide(1, std::vector<double>{3, std::nan(""), 0, 0});
    CHECK(degree(s, 2) == 4);
    s.decide(2, std::vector<double>{0, 3, 0, 4});  // 1.5
    CHECK(degree(s, 3) == 4);
    s.decide(3, std::vector<double>{1, 4, 0, 1});  // 1
    CHECK(degree(s, 4) == 2);
    CHECK(contains(s.stages().back().reason, "variation 1 below"));
}

TEST_CASE("consensus_control: degree up above the target, down well below it") {
    const auto made = make(R"({"type": "consensus_control", "by": "degree", "target": 1,
                               "k_max": 6, "slack": 0.5})",
                           16);
    Staged& s = made.staged;
    int64_t t = 0;
    const auto check = [&](double distance) {
        s.decide(t, std::vector<double>{distance});
        return degree(s, ++t);
    };
    CHECK(degree(s, 0) == 2);
    CHECK(check(2) == 4);
    CHECK(check(2) == 6);
    CHECK(check(2) == 6);
    CHECK(check(0.8) == 6);
    CHECK(check(0.4) == 4);
    CHECK(check(0.4) == 2);
    CHECK(check(0.4) == 2);
    CHECK_FALSE(s.may_repeat(0));
}

TEST_CASE("consensus_control: rounds until the target, or a fraction of the maximum") {
    const auto fixed = make(R"({"type": "consensus_control", "target": 1, "max_rounds": 3})", 16);
    CHECK(fixed.staged.may_repeat(0));
    CHECK(fixed.staged.mix_again(0, 1, 5, 2));
    CHECK_FALSE(fixed.staged.mix_again(0, 2, 5, 0.9));
    CHECK_FALSE(fixed.staged.mix_again(0, 3, 5, 2));
    const auto relative = make(R"({"type": "consensus_control", "fraction": 0.25})", 16);
    CHECK(relative.staged.mix_again(0, 1, 4, 1.1));
    CHECK_FALSE(relative.staged.mix_again(0, 2, 4, 0.9));
    CHECK_FALSE(relative.staged.mix_again(1, 1, 0.5, 0.4));  // the maximum is still 4
    CHECK(contains(failure(R"({"type": "consensus_control", "graph": "one_peer_exponential"})", 8),
                   "is a sequence"));
}

TEST_CASE("budget spends the same bytes early, late and evenly") {
    const int n = 16;
    const RunFacts run{100, 10, 1, 40};
    std::set<double> spent;
    for (const char* order : {"dense_first", "dense_last", "uniform"}) {
        const Json spec{{"type", "budget"},
                        {"order", order},
                        {"models", 5},
                        {"dense", {{"type", "ring_lattice"}, {"k", 10}}}};
        const auto schedule = make_graph(spec, {n, 1, run});
        double models = 0;
        std::vector<double> degrees;
        for (int64_t t = 0; t < 100; ++t) degrees.push_back(degree(*schedule, t));
        for (const double d : degrees) models += d;
        spent.insert(models);
        CHECK(std::abs(models / 100 - 5) <= 8.0 / 100);
        const Json by_bytes{{"type", "budget"},
                            {"order", order},
                            {"bytes", 5.0 * n * 40 * 100},
                            {"dense", {{"type", "ring_lattice"}, {"k", 10}}}};
        const auto same = make_graph(by_bytes, {n, 1, run});
        for (int64_t t = 0; t < 100; ++t) CHECK(degree(*same, t) == degrees[t]);
        if (std::string(order) == "dense_first") CHECK((degrees[0] == 10 && degrees[99] == 2));
        if (std::string(order) == "dense_last") CHECK((degrees[0] == 2 && degrees[99] == 10));
        if (std::string(order) == "uniform") {
            for (int64_t t = 0; t + 3 <= 100; ++t) {
                const double some = degrees[t] + degrees[t + 1] + degrees[t + 2];
                CHECK((some > 6 && some < 30));
            }
        }
    }
    CHECK(spent.size() == 1);
    CHECK(contains(failure(R"({"type": "budget", "models": 100})", 16), "cannot be spent"));
    const std::string complete = failure(R"({"type": "budget"})", 8);  // k = 10 on 8 replicas
    CHECK(contains(complete, "/dense: ring_lattice k=10 sends 1.75"));
    CHECK(contains(complete, "with 8 replicas it is the complete graph"));
    CHECK(contains(complete, "use k = 6"));
    CHECK(failure(R"({"type": "budget", "dense": {"type": "ring_lattice", "k": 6}})", 8).empty());
    CHECK(contains(failure(R"({"type": "budget"})", 4), "use another dense graph"));
}

TEST_CASE("a graph that comes back goes on where it stopped") {
    const Json spec{{"type", "budget"},
                    {"order", "uniform"},
                    {"models", 3},
                    {"dense", {{"type", "ring_lattice"}, {"k", 5 + 1}}},
                    {"sparse", "one_peer_exponential"}};
    const auto schedule = make_graph(spec, {16, 1, {60, 10, 1, 4}});
    int64_t sparse = 0;
    for (int64_t t = 0; t < 60; ++t) {
        if (degree(*schedule, t) != 1) continue;
        CHECK(schedule->in(schedule->at(t), 0)[1].peer == 16 - (1 << (sparse++ % 4)));
    }
    CHECK(sparse == 36);
}
