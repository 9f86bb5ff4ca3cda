// Tests of the optimizers through their table: rules in closed form, state per replica, decay by
// kind of tensor.

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/optimizers/optimizer.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using arena::TensorKind;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Three replicas, numbered from 5, with a weight, a bias and a norm. All x = 2, all g = 0.5.
struct Bench {
    arena::Layout layout;
    arena::StateTable state;
    arena::Buffer x, g;
    std::unique_ptr<Optimizer> optimizer;

    explicit Bench(const std::string& spec)
        : layout(make_layout()),
          state(arena::DType::float64, 5, 3, layout.columns()),
          x(arena::DType::float64, 5, 3, layout.columns()),
          g(arena::DType::float64, 5, 3, layout.columns()) {
        for (int64_t i = 0; i < 3; ++i) {
            for (const auto& tensor : layout.tensors()) {
                std::fill_n(x.rows().row<double>(i) + tensor.offset, tensor.numel, 2.0);
                std::fill_n(g.rows().row<double>(i) + tensor.offset, tensor.numel, 0.5);
            }
        }
        const auto resolved = resolve_optimizer(base::Json::parse(spec), "/optimizer");
        optimizer =
            base::find_entry(optimizer_table(), resolved.at("type"))->make(resolved, layout);
        optimizer->declare(state);
    }

    static arena::Layout make_layout() {
        arena::Layout layout;
        layout.add("w", {3, 7}, TensorKind::weight);
        layout.add("b", {3}, TensorKind::bias);
        layout.add("n", {5}, TensorKind::norm);
        return layout;
    }

    void step(double lr, int64_t number) { step(x.rows(), g.rows(), lr, number); }
    void step(arena::Rows rows, arena::Rows gradient, double lr, int64_t number) {
        optimizer->step(rows, rows, rows, gradient, layout.all(), {lr, number}, nullptr,
                        arena::host_queue());
    }
    double at(int64_t replica, int tensor, int64_t element = 0) const {
        return x.rows().row<double>(replica)[layout.tensors()[tensor].offset + element];
    }
};

std::string refusal_optimizer_rules(const std::string& spec) {
    try {
        resolve_optimizer(base::Json::parse(spec), "/optimizer");
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("plain SGD keeps no state") {
    Bench bench(R"("sgd")");
    bench.step(0.1, 1);
    CHECK(bench.at(0, 0) == Approx(2 - 0.1 * 0.5));
    CHECK(bench.at(2, 2, 4) == Approx(2 - 0.1 * 0.5));
    CHECK(bench.state.elements_per_replica() == 0 * bench.layout.columns());
    CHECK(bench.state.entries().empty());
}

TEST_CASE("momentum: v = mu v + g, x -= lr v") {
    Bench bench(R"({"type": "sgd", "momentum": 0.9})");
    bench.step(0.1, 1);
    bench.step(0.1, 2);
    CHECK(bench.at(1, 0, 20) == Approx(2 - 0.1 * 0.5 - 0.1 * (0.9 * 0.5 + 0.5)));
    CHECK(bench.state.elements_per_replica() == 1 * bench.layout.columns());
    REQUIRE(bench.state.entries().size() == 1);
    CHECK(bench.state.entries()[0].name == "optimizer/velocity");
}

TEST_CASE("Nesterov: x -= lr (g + mu v)") {
    Bench bench(R"({"type": "sgd", "momentum": 0.9, "nesterov": true})");
    bench.step(0.1, 1);
    CHECK(bench.at(0, 1) == Approx(2 - 0.1 * (0.5 + 0.9 * 0.5)));
}

TEST_CASE("decay applies to all tensors, or to weights only") {
    Bench all(R"({"type": "sgd", "weight_decay": 0.01})");
    all.step(0.1, 1);
    for (const int tensor : {0, 1, 2}) CHECK(all.at(0, tensor) == Approx(2 - 0.1 * (0.5 + 0.02)));

    Bench weights(R"({"type": "sgd", "weight_decay": 0.01, "decay": "weights"})");
    weights.step(0.1, 1);
    CHECK(weights.at(0, 0) == Approx(2 - 0.1 * (0.5 + 0.02)));
    CHECK(weights.at(0, 1) == Approx(2 - 0.1 * 0.5));
    CHECK(weights.at(0, 2) == Approx(2 - 0.1 * 0.5));
}

TEST_CASE("Adam's first step is lr times the sign, and its decay is part of the gradient") {
    Bench bench(R"({"type": "adam", "weight_decay": 0.25})");
    bench.step(0.1, 1);
    // g + 0.25 x = 1; the step does not depend on its size.
    CHECK(bench.at(0, 0) == Approx(2 - 0.1));
    CHECK(bench.state.elements_per_replica() == 2 * bench.layout.columns());
    REQUIRE(bench.state.entries().size() == 2);
    CHECK(bench.state.entries()[0].name == "optimizer/first_moment");
    CHECK(bench.state.entries()[1].name == "optimizer/second_moment");
}

TEST_CASE("AdamW shrinks by lr times decay in addition to the step") {
    Bench bench(R"({"type": "adamw", "weight_decay": 0.25, "decay": "weights"})");
    bench.step(0.1, 1);
    CHECK(bench.at(0, 0) == Approx(2 - 0.1 * 0.25 * 2 - 0.1));
    CHECK(bench.at(0, 1) == Approx(2 - 0.1));
}

TEST_CASE("AccumAdam's moments change at the end of a window") {
    Bench bench(R"({"type": "accum_adam", "window": 2})");
    bench.step(0.1, 1);
    CHECK(bench.at(0, 0) == Approx(2 - 0.1));
    CHECK(bench.state.elements_per_replica() == 3 * bench.layout.columns());
    REQUIRE(bench.state.entries().size() == 3);
    CHECK(bench.state.entries()[0].name == "optimizer/first_moment");
    CHECK(bench.state.entries()[1].name == "optimizer/second_moment");
    CHECK(bench.state.entries()[2].name == "optimizer/accumulated_gradient");
    const auto state = [&](int entry) {
        return bench.state.entries()[entry].buffer.rows().row<double>(0)[0];
    };
    CHECK(state(0) == 0);
    CHECK(state(2) == Approx(0.5 / 2));
    bench.step(0.1, 2);
    CHECK(bench.at(0, 0) == Approx(2 - 0.2));
    CHECK(state(0) == Approx((1 - 0.9) * 0.5));
    CHECK(state(1) == Approx((1 - 0.999) * 0.5 * 0.5));
    CHECK(state(2) == 0);
}

TEST_CASE("AccumAdam adds decay to the gradient, AccumAdamW to the update") {
    Bench coupled(R"({"type": "accum_adam", "weight_decay": 0.25, "decay": "weights"})");
    coupled.step(0.1, 1);
    // g + 0.25 x = 1; the step does not depend on its size.
    CHECK(coupled.at(0, 0) == Approx(2 - 0.1));
    const auto accumulated = coupled.state.entries()[2].buffer.rows().row<double>(0);
    CHECK(accumulated[0] == Approx((0.5 + 0.25 * 2) / 4));
    CHECK(accumulated[coupled.layout.tensors()[1].offset] == Approx(0.5 / 4));

    Bench decoupled(R"({"type": "accum_adamw", "weight_decay": 0.25, "decay": "weights"})");
    decoupled.step(0.1, 1);
    CHECK(decoupled.at(0, 0) == Approx(2 - 0.1 * 0.25 * 2 - 0.1));
    CHECK(decoupled.at(0, 1) == Approx(2 - 0.1));
}

TEST_CASE("a replica that is updated separately uses its own state") {
    const char* spec = GENERATE(R"({"type": "sgd", "momentum": 0.9})", R"("adam")", R"("adamw")",
                                R"({"type": "accum_adam", "window": 2})");
    Bench together(spec), alone(spec);
    // Replica 6 has received another gradient, so that a confusion of states would show.
    for (Bench* bench : {&together, &alone}) {
        double* g = bench->g.rows().row<double>(1);
        for (int64_t c = 0; c < bench->layout.columns(); ++c) g[c] *= -3;
    }
    for (int64_t number : {1, 2, 3}) {
        together.step(0.1, number);
        for (const int64_t i : {2, 0, 1}) {
            alone.step(alone.x.rows().only(i), alone.g.rows().only(i), 0.1, number);
        }
    }
    for (int64_t i = 0; i < 3; ++i) {
        for (const int tensor : {0, 1, 2}) CHECK(alone.at(i, tensor) == together.at(i, tensor));
    }
}

TEST_CASE("the direction is taken at one point and applied to another") {
    Bench bench(R"({"type": "sgd", "weight_decay": 0.5})");
    arena::Buffer out(arena::DType::float64, 5, 3, bench.layout.columns());
    arena::Buffer base(arena::DType::float64, 5, 3, bench.layout.columns());
    base.rows().row<double>(1)[3] = 7;
    std::vector<double> squared(3 * bench.layout.segments().size());
    bench.optimizer->step(out.rows(), base.rows(), bench.x.rows(), bench.g.rows(),
                          bench.layout.all(), {0.1, 1}, squared.data(), arena::host_queue());
    CHECK(out.rows().row<double>(1)[3] == Approx(7 - 0.1 * (0.5 + 0.5 * 2)));
    CHECK(bench.at(1, 0, 3) == 2);
    REQUIRE(squared.size() == 9);
    CHECK(squared[0] == Approx(21 * 0.15 * 0.15));
    CHECK(squared[8] == Approx(5 * 0.15 * 0.15));
}

TEST_CASE("defaults are torch's, and invalid combinations of options are refused") {
    CHECK(resolve_optimizer("adam", "/optimizer").at("lr") == 1e-3);
    CHECK(resolve_optimizer("adam", "/optimizer").at("weight_decay") == 0);
    CHECK(resolve_optimizer("adamw", "/optimizer").at("weight_decay") == 0.01);
    CHECK(resolve_optimizer("adamw", "/optimizer").at("eps") == 1e-8);
    CHECK(resolve_optimizer("accum_adam", "/optimizer").at("window") == 4);
    CHECK(resolve_optimizer("accum_adamw", "/optimizer").at("weight_decay") == 0.01);
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "accum_adam", "window": 0})"),
               ContainsSubstring("/optimizer/window"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "accum_adam", "window": 2.5})"),
               ContainsSubstring("/optimizer/window"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "adam", "window": 2})"),
               ContainsSubstring("unknown key"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "sgd", "nesterov": true})"),
               ContainsSubstring("/optimizer/nesterov"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "adam", "betas": [0.9]})"),
               ContainsSubstring("two numbers"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "adam", "betas": [0.9, 1]})"),
               ContainsSubstring("/optimizer/betas/1"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "sgd", "lr": -1})"),
               ContainsSubstring("/optimizer/lr"));
    CHECK_THAT(refusal_optimizer_rules(R"({"type": "sgd", "betas": [0.9, 0.99]})"),
               ContainsSubstring("unknown key"));
}

TEST_CASE("every optimizer accepts a clipping norm, or null") {
    for (const auto& row : optimizer_table()) {
        const std::string start = R"({"type": ")" + row.name + R"(", "clip_norm": )";
        CHECK(resolve_optimizer(row.name, "/optimizer").at("clip_norm").is_null());
        CHECK(resolve_optimizer(base::Json::parse(start + "null}"), "/optimizer")
                  .at("clip_norm")
                  .is_null());
        CHECK(resolve_optimizer(base::Json::parse(start + "0.5}"), "/optimizer").at("clip_norm") ==
              0.5);
        for (const std::string wrong : {"0", "-1", R"("1")", "true"}) {
            CHECK_THAT(refusal_optimizer_rules(start + wrong + "}"),
                       ContainsSubstring("/optimizer/clip_norm"));
        }
    }
}
