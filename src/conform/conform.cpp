#include "conform/conform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "conform/kit.hpp"
#include "conform/stability.hpp"
#include "conform/trainee.hpp"
#include "conform/trial.hpp"

namespace dbench::conform {
namespace {

using algorithms::Bias;
using algorithms::MeanRule;
using base::Json;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // relative, over the iterations that are compared
constexpr double kSingle = 1e-3;     // the same in float32, of which some divide by the rate
using arena::DType;

Check below(std::string name, double found, double most, std::string note = "") {
    return {std::move(name), found, kNone, most, std::move(note)};
}

}  // namespace

bool Report::passed() const {
    return std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.passed(); });
}

Report conform(comm::World& world, const Subject& subject, const Options& options,
               const Json* reference_of) {
    const algorithms::Promises& promises = subject.row->promises;
    const int64_t n = options.replicas;
    const Json graph = suitable_graph(subject.row->accepts, options.graph, n);
    Report report;
    report.title = words(subject.algorithm);
    if (subject.optimizer != Json("sgd")) {
        report.title +=
            ", " + words(subject.optimizer.is_string() ? Json{{"type", subject.optimizer}}
                                                       : subject.optimizer);
    }
    if (subject.message != Json("float32")) report.title += ", message " + words(subject.message);
    report.graph = words(graph);
    report.skipped = unsuitable(subject.row->accepts, graph, n, world.size());
    if (!report.skipped.empty()) return report;

    Kit kit(world, subject, graph, options);
    auto& checks = report.checks;
    const auto quadratic = quadratics(n, 1, 1);
    const auto softmax = softmax_regression(n, 1);
    const auto compare = [&](const Problem& problem, const Json& on, const std::string& note) {
        if (const auto d = kit.reference(problem, on, reference_of, DType::float64)) {
            const double most = kRounding * d->amplified;
            checks.push_back(below("reference", d->parameters, most, note));
            checks.push_back(below("recorded", d->recorded, most, note));
        }
    };
    for (const Problem* problem : {quadratic.get(), softmax.get()}) {
        compare(*problem, graph, problem->name());
    }
    if (options.graph.is_null()) {
        for (const Json& other : other_graphs(subject, n)) {
            compare(*quadratic, other,
                    other.is_array() ? "a list of graphs" : other.at("type").get<std::string>());
        }
    }
    // In float32 a codec may choose another element, another level: an error of its own size.
    const bool exact = subject.message == Json("float32");
    const auto single =
        exact ? kit.reference(*quadratic, graph, reference_of, DType::float32) : std::nullopt;
    if (const auto& d = single; d && d->amplified == 1) {
        checks.push_back(below("float32", std::max(d->parameters, d->recorded), kSingle));
    }
    const bool plain = plain_sgd(resolved_optimizer(subject));
    if (plain && subject.promised && promises.mean != MeanRule::none) {
        checks.push_back(below("mean", kit.mean_recursion(*softmax), kRounding));
        if (promises.weight && options.graph.is_null()) {
            const Json star = unlike_graph();
            checks.push_back(below("mean", kit.mean_recursion(*softmax, star), kRounding,
                                   "star, weights=column"));
        }
    }
    if (promises.weight) {
        const Json on = options.graph.is_null() ? unlike_graph() : graph;
        checks.push_back(below("mass", kit.mass(*softmax, on), kRounding, "of weights"));
    }
    if (plain && promises.tracker)
        checks.push_back(below("tracker", kit.tracker(*softmax), kRounding));
    checks.push_back(below("restart", kit.restart(*softmax), 0, "from the state table, bitwise"));
    if (kit.can_be_relabelled()) {
        checks.push_back(below("relabelled", kit.relabelled(*softmax), kRounding));
    }
    if (plain && subject.promised && promises.plain_alone) {
        checks.push_back(below("n = 1", kit.alone(*quadratic), kRounding));
    }
    if (plain && subject.promised && promises.distils) {
        checks.push_back(below("distilled", kit.distilled(*quadratic, 200), kRounding,
                               "from the common minimiser, taught by the local ones"));
        checks.push_back(
            {"averaged", kit.distilled(*quadratic, 0), 0.1, -kNone, "the same by averaging alone"});
    }
    if (!plain || !subject.promised || !options.thorough) return report;
    const double lr = 0.02 * kit.rate_factor();
    if (promises.bias == Bias::vanishes) {
        checks.push_back(below("exact", kit.error(*quadratic, 0.05, 4000), 1e-8,
                               "distance from the minimiser, heterogeneous data"));
    } else if (promises.bias == Bias::halves) {
        const double ratio = kit.error(*quadratic, lr, 6000) / kit.error(*quadratic, lr / 2, 12000);
        if (!std::isfinite(ratio) && !options.graph.is_null()) {
            report.note = "diverges on this graph at rate " + base::short_text(Json(lr));
            return report;
        }
        checks.push_back({"bias", ratio, 1.6, 2.4, "over that at half the rate"});
    }
    if (promises.mean != MeanRule::none && options.graph.is_null()) {
        const double ratio = kit.noisy_error(4) / kit.noisy_error(16);
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
    const Subject left{equality.left, equality.left_optimizer, row(equality.left), true, same};
    const Subject right{equality.right, equality.right_optimizer, row(equality.right), true, same};
    const Json asked = equality.graph.empty() ? options.graph : Json{{"type", equality.graph}};
    // A graph that suits the choosier of the two.
    Json graph = suitable_graph(left.row->accepts, asked, options.replicas);
    if (asked.is_null() && !unsuitable(right.row->accepts, graph, options.replicas).empty()) {
        graph = suitable_graph(right.row->accepts, asked, options.replicas);
    }
    report.graph = words(graph);
    for (const Subject* side : {&left, &right}) {
        report.skipped = unsuitable(side->row->accepts, graph, options.replicas, world.size());
        if (!report.skipped.empty()) return report;
    }
    const auto problem = softmax_regression(options.replicas, 1);
    const int64_t steps = compared(world);
    Training training = training_of(left, graph, options.replicas, steps);
    if (left.row->accepts.asynchronous) training.span = 5;
    Trainee a(world, *problem, training, *left.row);
    Trainee b(world, *problem, training_of(right, graph, options.replicas, steps), *right.row);
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
