#include "conform/conform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "conform/check_setup.hpp"
#include "conform/measurements.hpp"
#include "conform/production_run.hpp"
#include "conform/stability.hpp"

namespace dbench::conform {
namespace {

using algorithms::Bias;
using algorithms::MeanRule;
using base::Json;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // relative, over the compared iterations
constexpr double kSingle = 1e-3;     // the same in float32; some algorithms divide by the rate
using arena::DType;

Check below(std::string name, double found, double most, std::string note = "") {
    return {std::move(name), found, kNone, most, std::move(note)};
}

std::string name_of(const Json& graph) {
    return graph.is_array() ? "a list of graphs" : graph.at("type").get<std::string>();
}

}  // namespace

bool Report::passed() const {
    return std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.passed(); });
}

Report conform(comm::World& world, const ConformanceCase& tested, const Options& options,
               const Json* reference_of) {
    const algorithms::Traits& traits = tested.row->traits;
    const int64_t n = options.replicas;
    const Json graph = suitable_graph(*tested.row, options.graph, n);
    Report report;
    report.title = spec_label(tested.algorithm);
    if (tested.optimizer != Json("sgd")) {
        report.title +=
            ", " + spec_label(tested.optimizer.is_string() ? Json{{"type", tested.optimizer}}
                                                           : tested.optimizer);
    }
    if (tested.message != Json("float32"))
        report.title += ", message " + spec_label(tested.message);
    report.graph = spec_label(graph);
    report.skipped = unsuitable_reason(*tested.row, graph, n, world.size());
    if (!report.skipped.empty()) return report;

    Measurements measurements(world, tested, graph, options);
    auto& checks = report.checks;
    const auto quadratic = quadratics(n, 1, 1);
    const auto softmax = softmax_regression(n, 1);
    const auto compare = [&](const Problem& problem, const Json& on, const std::string& note) {
        if (const auto d = measurements.reference(problem, on, reference_of, DType::float64)) {
            const double most = kRounding * d->amplified;
            checks.push_back(below("reference", d->parameters, most, note));
            checks.push_back(below("recorded", d->recorded, most, note));
        }
    };
    for (const Problem* problem : {quadratic.get(), softmax.get()}) {
        compare(*problem, graph, problem->name());
    }
    const std::vector<Json> others =
        options.graph.is_null() ? other_graphs(tested, n) : std::vector<Json>{};
    for (const Json& other : others) compare(*quadratic, other, name_of(other));
    // In float32 a codec may select another element or level, which changes the result by a codec
    // error.
    const bool exact = tested.message == Json("float32");
    const auto single =
        exact ? measurements.reference(*quadratic, graph, reference_of, DType::float32)
              : std::nullopt;
    if (const auto& d = single; d && d->amplified == 1) {
        checks.push_back(below("float32", std::max(d->parameters, d->recorded), kSingle));
    }
    const bool plain = plain_sgd(resolved_optimizer(tested));
    if (plain && tested.promised && traits.mean != MeanRule::none) {
        checks.push_back(below("mean", measurements.mean_recursion(*softmax), kRounding));
        if (traits.weight && options.graph.is_null()) {
            const Json star = column_stochastic_graph();
            checks.push_back(below("mean", measurements.mean_recursion(*softmax, star), kRounding,
                                   "star, weights=column"));
        }
    }
    if (traits.weight) {
        const Json on = options.graph.is_null() ? column_stochastic_graph() : graph;
        checks.push_back(below("mass", measurements.mass(*softmax, on), kRounding, "of weights"));
    }
    if (plain && traits.tracker)
        checks.push_back(below("tracker", measurements.tracker(*softmax), kRounding));
    checks.push_back(below("restart", measurements.restart(*softmax, graph), 0,
                           "from the state table, bitwise"));
    for (const Json& other : others) {
        checks.push_back(
            below("restart", measurements.restart(*softmax, other), 0, name_of(other)));
    }
    if (measurements.can_be_relabelled()) {
        checks.push_back(below("relabelled", measurements.relabelled(*softmax), kRounding));
    }
    if (plain && tested.promised && traits.plain_alone) {
        checks.push_back(below("n = 1", measurements.single_replica(*quadratic), kRounding));
    }
    if (plain && tested.promised && traits.distils) {
        checks.push_back(below("distilled", measurements.distilled(*quadratic, 200), kRounding,
                               "from the common minimiser, taught by the local ones"));
        checks.push_back({"averaged", measurements.distilled(*quadratic, 0), 0.1, -kNone,
                          "the same by averaging alone"});
    }
    if (!plain || !tested.promised || !options.thorough) return report;
    const double lr = 0.02 * measurements.rate_factor();
    if (traits.bias == Bias::vanishes) {
        checks.push_back(below("exact", measurements.error(*quadratic, 0.05, 4000), 1e-8,
                               "distance from the minimiser, heterogeneous data"));
    } else if (traits.bias == Bias::halves) {
        const double ratio = measurements.error(*quadratic, lr, 6000) /
                             measurements.error(*quadratic, lr / 2, 12000);
        if (!std::isfinite(ratio) && !options.graph.is_null()) {
            report.note = "diverges on this graph at rate " + base::short_text(Json(lr));
            return report;
        }
        checks.push_back({"bias", ratio, 1.6, 2.4, "over that at half the rate"});
    }
    if (traits.mean != MeanRule::none && options.graph.is_null()) {
        const double ratio = measurements.noisy_error(4) / measurements.noisy_error(16);
        checks.push_back({"noise", ratio, 3.0, 5.3, "4 replicas over 16"});
    }
    return report;
}

Report conform(comm::World& world, const Equality& equality, const Options& options) {
    Report report;
    report.title = equality.statement;
    const auto row = [](const Json& algorithm) {
        return base::find_entry(algorithms::algorithm_table(),
                                algorithm.at("type").get<std::string>());
    };
    const bool same = equality.same_start;
    const ConformanceCase left{equality.left, equality.left_optimizer, row(equality.left), true,
                               same};
    const ConformanceCase right{equality.right, equality.right_optimizer, row(equality.right), true,
                                same};
    const Json asked = equality.graph.empty() ? options.graph : Json{{"type", equality.graph}};
    // Use a graph that suits the more restrictive of the two algorithms.
    Json graph = suitable_graph(*left.row, asked, options.replicas);
    if (asked.is_null() && !unsuitable_reason(*right.row, graph, options.replicas).empty()) {
        graph = suitable_graph(*right.row, asked, options.replicas);
    }
    report.graph = spec_label(graph);
    for (const ConformanceCase* side : {&left, &right}) {
        report.skipped = unsuitable_reason(*side->row, graph, options.replicas, world.size());
        if (!report.skipped.empty()) return report;
    }
    const auto problem = softmax_regression(options.replicas, 1);
    const int64_t steps = iterations_to_compare(world);
    TrainingSettings training = training_of(left, graph, options.replicas, steps);
    if (left.row->traits.asynchronous) training.span = 5;
    ProductionRun a(world, *problem, training, *left.row);
    ProductionRun b(world, *problem, training_of(right, graph, options.replicas, steps),
                    *right.row);
    double largest = 0;
    for (int64_t t = 0; t < steps; t += training.span) {
        a.step();
        for (int64_t k = 0; k < training.span; ++k) b.step();
        const Matrix x = a.parameters();
        if (diverges(x)) largest = std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference(x, b.parameters()));
    }
    report.checks.push_back(below("equal", largest, kRounding));
    return report;
}

}  // namespace dbench::conform
