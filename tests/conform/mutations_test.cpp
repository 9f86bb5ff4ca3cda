// Tests that conformance detects algorithms with one error.

#include <nlohmann/json.hpp>

#include "algorithms/mixing_algorithms.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/conform.hpp"

namespace {

using namespace dbench;
using algorithms::Algorithm;
using algorithms::AlgorithmContext;
using algorithms::Step;
using base::Json;

const algorithms::AlgorithmEntry& row(const std::string& name) {
    return *base::find_entry(algorithms::algorithm_table(), name);
}

Json spec(const char* text) { return Json::parse(text); }

/// Returns the report on `algorithm`, built by `make` instead of its production code.
template <class Mutant>
conform::Report mutated(const Json& algorithm, const Json& optimizer = "sgd") {
    algorithms::AlgorithmEntry entry = row(algorithm.at("type"));
    entry.make = [](const Json&, const AlgorithmContext& context) {
        return std::unique_ptr<Algorithm>(std::make_unique<Mutant>(context.schedule));
    };
    comm::World alone{comm::alone()};
    return conform::conform(alone, {algorithm, optimizer, &entry}, {.thorough = false});
}

/// Returns the report on `algorithm`, compared with the reference of `other`.
conform::Report taken_for(const Json& algorithm, const Json& other) {
    comm::World alone{comm::alone()};
    const Json reference = algorithms::resolve_algorithm(other);
    return conform::conform(alone, {algorithm, "sgd", &row(algorithm.at("type"))},
                            {.thorough = false}, &reference);
}

std::vector<std::string> failed(const conform::Report& report) {
    std::vector<std::string> names;
    for (const auto& check : report.checks) {
        if (!check.passed() && (names.empty() || names.back() != check.name)) {
            names.push_back(check.name);
        }
    }
    return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

struct Ascent final : algorithms::AdaptThenCombine {
    using AdaptThenCombine::AdaptThenCombine;
    void adapt(Step& step, arena::Columns columns) override {
        step.combine(step.x, {{1, step.x}, {step.numbers.lr, step.g}}, columns);
    }
};

/// Uses the neighbours' parameters of the previous iteration.
struct Stale final : algorithms::AdaptThenCombine {
    using AdaptThenCombine::AdaptThenCombine;
    void declare(arena::StateTable& state) override {
        before = state.rows("algorithm/before");
        sent = state.scratch();
        own = state.scratch();
    }
    void adapt(Step& step, arena::Columns columns) override {
        step.update(own.rows(), step.x, step.x, columns);
        step.copy(step.t == 0 ? own.rows() : before, sent.rows(), columns);
    }
    arena::Rows message(Step&) override { return sent.rows(); }
    void combined(Step& step) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows old = step.t == 0 ? own.rows() : before;
        step.combine(step.x, {{1, own.rows()}, {1, sent.rows()}, {-1, old}}, all);
        step.copy(own.rows(), before, all);
    }
    arena::Rows before;
    arena::Buffer sent, own;
};

/// Gradient tracking without the correction: y <- W (y + g).
struct NoCorrection final : algorithms::MixingAlgorithm {
    using MixingAlgorithm::MixingAlgorithm;
    void declare(arena::StateTable& state) override { y = state.rows("algorithm/tracker"); }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        step.combine(y, {{1, y}, {1, step.g}}, all);
        if (step.t > 0) step.mix(y, y);
        step.apply_direction(step.x, step.x, y, all);
        step.mix(step.x, step.x);
    }
    arena::Rows y;
};

/// Gradient tracking that does not average its tracker.
struct UnmixedTracker final : algorithms::MixingAlgorithm {
    using MixingAlgorithm::MixingAlgorithm;
    void declare(arena::StateTable& state) override {
        y = state.rows("algorithm/tracker");
        before = state.rows("algorithm/previous_gradient");
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        step.combine(y, {{1, y}, {1, step.g}, {-1, before}}, all);
        step.copy(step.g, before, all);
        step.apply_direction(step.x, step.x, y, all);
        step.mix(step.x, step.x);
    }
    arena::Rows y, before;
};

/// D2 as in published codes: uses the present learning rate for both gradients.
struct OneRate final : algorithms::AdaptThenCombine {
    using AdaptThenCombine::AdaptThenCombine;
    void declare(arena::StateTable& state) override {
        x_before = state.rows("algorithm/x");
        g_before = state.rows("algorithm/g");
        sent = state.scratch();
    }
    void adapt(Step& step, arena::Columns columns) override {
        const double lr = step.numbers.lr;
        if (step.t == 0) {
            step.combine(sent.rows(), {{1, step.x}, {-lr, step.g}}, columns);
        } else {
            step.combine(sent.rows(), {{2, step.x}, {-1, x_before}, {-lr, step.g}, {lr, g_before}},
                         columns);
        }
        step.copy(step.x, x_before, columns);
        step.copy(step.g, g_before, columns);
    }
    arena::Rows message(Step&) override { return sent.rows(); }
    void combined(Step& step) override { step.copy(sent.rows(), step.x, step.layout.all()); }
    arena::Rows x_before, g_before;
    arena::Buffer sent;
};

/// DecentLaM that keeps its momentum outside the state table.
struct HiddenState final : algorithms::AdaptThenCombine {
    using AdaptThenCombine::AdaptThenCombine;
    void declare(arena::StateTable& state) override {
        m = state.scratch();
        sent = state.scratch();
    }
    void adapt(Step& step, arena::Columns columns) override {
        step.apply_direction(sent.rows(), step.x, step.g, columns);
    }
    arena::Rows message(Step&) override { return sent.rows(); }
    void combined(Step& step) override {
        const double lr = step.numbers.lr;
        const arena::Columns all = step.layout.all();
        step.combine(m.rows(), {{0.9, m.rows()}, {1 / lr, step.x}, {-1 / lr, sent.rows()}}, all);
        step.combine(step.x, {{1, step.x}, {-lr, m.rows()}}, all);
    }
    arena::Buffer m, sent;
};

}  // namespace

TEST_CASE("conformance detects a flipped sign") {
    const auto names = failed(mutated<Ascent>(spec(R"({"type": "dsgd"})")));
    CHECK(has(names, "reference"));
    CHECK(has(names, "mean"));
    CHECK(has(names, "n = 1"));
}

TEST_CASE("conformance detects stale neighbours") {
    CHECK(has(failed(mutated<Stale>(spec(R"({"type": "dsgd"})"))), "reference"));
}

TEST_CASE("conformance detects a missing correction") {
    const auto names = failed(mutated<NoCorrection>(spec(R"({"type": "gradient_tracking"})")));
    CHECK(has(names, "reference"));
    CHECK(has(names, "tracker"));
    CHECK(has(names, "mean"));
}

TEST_CASE("the reference detects a tracker that is not averaged, although all promises hold") {
    const auto names = failed(mutated<UnmixedTracker>(spec(R"({"type": "gradient_tracking"})")));
    CHECK(has(names, "reference"));
    for (const char* kept : {"mean", "tracker", "restart", "relabelled", "n = 1"}) {
        CHECK_FALSE(has(names, kept));
    }
}

TEST_CASE("conformance detects missing records") {
    const auto names = failed(mutated<UnmixedTracker>(spec(R"({"type": "gradient_tracking"})")));
    CHECK(has(names, "recorded"));
}

TEST_CASE("conformance detects the wrong one of two learning rates") {
    const auto names = failed(mutated<OneRate>(spec(R"({"type": "d2"})")));
    CHECK(has(names, "reference"));
    CHECK(has(names, "mean"));
}

TEST_CASE("the restart check alone detects state outside the state table") {
    const auto names = failed(mutated<HiddenState>(spec(R"({"type": "decentlam"})")));
    CHECK(names == std::vector<std::string>{"restart"});
}

TEST_CASE("conformance detects a wrong order, momentum or form") {
    struct Pair {
        const char* is;
        const char* taken_for;
    };
    const Pair pairs[] = {
        {R"({"type": "dsgd"})", R"({"type": "dsgd", "order": "combine_while_adapt"})"},
        {R"({"type": "dsgd", "order": "combine_while_adapt"})", R"({"type": "dsgd"})"},
        {R"({"type": "dsgd", "order": "combine_then_adapt"})", R"({"type": "dsgd"})"},
        {R"({"type": "qg_dsgdm", "beta": 0})", R"({"type": "qg_dsgdm"})"},
        {R"({"type": "qg_dsgdm"})", R"({"type": "qg_dsgdm", "nesterov": true})"},
        {R"({"type": "decentlam", "beta": 0})", R"({"type": "decentlam"})"},
        {R"({"type": "averaged_momentum", "beta": 0})", R"({"type": "averaged_momentum"})"},
        {R"({"type": "gradient_tracking"})", R"({"type": "gradient_tracking", "form": "diging"})"},
        {R"({"type": "gradient_tracking"})",
         R"({"type": "gradient_tracking", "start": "averaged"})"},
        {R"({"type": "momentum_tracking", "beta": 0})", R"({"type": "momentum_tracking"})"},
        {R"({"type": "momentum_tracking"})", R"({"type": "momentum_tracking", "start": "local"})"},
        {R"({"type": "gut", "mu": 0})", R"({"type": "gut"})"},
        {R"({"type": "qg_gutm"})", R"({"type": "qg_gutm", "nesterov": true})"},
        {R"({"type": "relaysgd"})", R"({"type": "relaysgd", "form": "grad"})"},
        {R"({"type": "relaysgd"})", R"({"type": "relaysgd", "missing": "start"})"},
        {R"({"type": "moniqua", "theta": 8})",
         R"({"type": "moniqua", "theta": 8, "form": "combine_while_adapt"})"},
        {R"({"type": "diloco", "period": 4, "outer_momentum": 0})",
         R"({"type": "diloco", "period": 4})"},
        {R"({"type": "noloco", "period": 4, "alpha": 0})", R"({"type": "noloco", "period": 4})"},
        {R"({"type": "gasloc", "period": 4})", R"({"type": "gasloc", "period": 4, "gamma": 0.1})"},
        {R"({"type": "slowmo", "period": 4, "beta": 0})", R"({"type": "slowmo", "period": 4})"},
        {R"({"type": "local_sgd", "period": 4})", R"({"type": "local_sgd", "period": 5})"},
    };
    for (const Pair& pair : pairs) {
        INFO(pair.is << " taken for " << pair.taken_for);
        CHECK(has(failed(taken_for(spec(pair.is), spec(pair.taken_for))), "reference"));
        CHECK(failed(taken_for(spec(pair.is), spec(pair.is))).empty());
    }
}

TEST_CASE("a new row without a reference gets the checks that need none") {
    algorithms::AlgorithmEntry mine = row("dsgd");
    mine.name = "mine";
    comm::World alone{comm::alone()};
    const auto good = conform::conform(alone, {spec(R"({"type": "mine"})"), "sgd", &mine}, {});
    std::vector<std::string> names;
    for (const auto& check : good.checks) {
        // "restart" is checked on several graphs.
        if (names.empty() || names.back() != check.name) names.push_back(check.name);
    }
    CHECK(names ==
          std::vector<std::string>{"mean", "restart", "relabelled", "n = 1", "bias", "noise"});
    CHECK(good.passed());

    mine.make = [](const Json&, const AlgorithmContext& context) {
        return std::unique_ptr<Algorithm>(std::make_unique<Ascent>(context.schedule));
    };
    const conform::Options quick{.thorough = false};
    CHECK_FALSE(
        conform::conform(alone, {spec(R"({"type": "mine"})"), "sgd", &mine}, quick).passed());
}
