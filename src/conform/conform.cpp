#include "conform/conform.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/optimizers/optimizer.hpp"
#include "base/error.hpp"
#include "comm/launcher.hpp"
#include "conform/reference.hpp"
#include "conform/trainee.hpp"
#include "conform/trial.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::conform {
namespace {

using algorithms::Accepts;
using algorithms::Bias;
using algorithms::MeanRule;
using base::Json;

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // relative, over the iterations that are compared

class Kit {
public:
    Kit(comm::World& world, const Subject& subject, const Json& graph, const Options& options)
        : world_(world),
          subject_(subject),
          graph_(graph),
          options_(options),
          compared_(compared(world)) {}

    /// Against the reference, on one problem: the largest difference over all iterations.
    std::optional<double> reference(const Problem& problem, const Json& graph,
                                    const Json* reference_of) {
        const int64_t n = options_.replicas;
        const Training training = training_of(subject_, graph, n, compared_);
        double lr_max = 0;
        for (int64_t t = 0; t < compared_; ++t) lr_max = std::max(lr_max, moving_rate(t));
        const Json algorithm = reference_of ? *reference_of : training.algorithm;
        const auto reference = make_reference(algorithm, training.optimizer,
                                              {n, problem.parameters(), kPerEpoch, lr_max});
        if (!reference) return std::nullopt;
        Trainee trainee(world_, problem, training, *subject_.row);
        const auto schedule = graph_of(graph, n, compared_);
        Matrix x = trainee.parameters();
        double largest = 0;
        for (int64_t t = 0; t < compared_; ++t) {
            const Iteration iteration{t, moving_rate(t),
                                      [&](int64_t k) { return dense(*schedule, k); },
                                      [&](const Matrix& at) {
                                          Matrix g(n, problem.parameters());
                                          for (int64_t i = 0; i < n; ++i)
                                              g.row(i) = problem.gradient(i, at.row(i));
                                          return g;
                                      }};
            reference->step(iteration, x);
            if (diverges(x)) break;
            trainee.step();
            largest = std::max(largest, difference(trainee.parameters(), x));
        }
        return largest;
    }

    /// The recursion of the mean over replicas, from the gradients as drawn.
    double mean_recursion(const Problem& problem) {
        Training how = training(compared_);
        how.lr = rate();
        Trainee trainee(world_, problem, how, *subject_.row);
        const Json algorithm = resolved_algorithm(subject_.algorithm, *subject_.row);
        const double beta = algorithm.value("beta", 0.0);
        const Json mu_given = algorithm.value("mu", Json(nullptr));
        const double mu = mu_given.is_null() ? beta : mu_given.get<double>();
        const bool nesterov = algorithm.value("nesterov", false);
        using Row = Eigen::RowVectorXd;
        Row mean = trainee.parameters().colwise().mean();
        Row m = Row::Zero(mean.size());
        double largest = 0;
        for (int64_t t = 0; t < compared_; ++t) {
            trainee.step();
            const Row g = trainee.last_gradients().colwise().mean();
            Row direction = g;
            switch (subject_.row->promises.mean) {
                case MeanRule::gradient:
                case MeanRule::none:
                    break;
                case MeanRule::momentum:
                    direction = m = beta * m + g;
                    break;
                case MeanRule::momentum_before:
                    direction = m;
                    m = beta * m + g;
                    break;
                case MeanRule::quasi_global:
                    direction = beta * m + g;
                    if (nesterov) direction = g + beta * direction;
                    m = mu * m + (1 - mu) * direction;
                    break;
            }
            const Row next = mean - how.lr(t) * direction;
            const Matrix x = trainee.parameters();
            if (diverges(x)) break;
            mean = x.colwise().mean();
            largest = std::max(largest, difference(mean, next));
        }
        return largest;
    }

    /// mean of the tracker = mean of the gradients, in every iteration.
    double tracker(const Problem& problem) {
        Trainee trainee(world_, problem, training(compared_), *subject_.row);
        double largest = 0;
        for (int64_t t = 0; t < compared_; ++t) {
            trainee.step();
            const Matrix y = trainee.state(subject_.row->promises.tracker);
            largest = std::max(
                largest, difference(y.colwise().mean(), trainee.last_gradients().colwise().mean()));
        }
        return largest;
    }

    /// How often a restart from the state table does not continue bitwise: 0 or 1.
    double restart(const Problem& problem) {
        const Training how = training(compared_);
        Trainee whole(world_, problem, how, *subject_.row);
        for (int64_t t = 0; t < compared_ / 2; ++t) whole.step();
        Trainee second(world_, problem, how, *subject_.row);
        second.restore(whole.save(), compared_ / 2);
        for (int64_t t = compared_ / 2; t < compared_; ++t) {
            whole.step();
            second.step();
        }
        const Matrix a = whole.parameters(), b = second.parameters();
        const size_t bytes = static_cast<size_t>(a.size()) * sizeof(double);
        return std::memcmp(a.data(), b.data(), bytes) == 0 ? 0 : 1;
    }

    /// With one replica: the plain optimizer's path, from the same code under dsgd.
    double alone(const Problem& problem) {
        Training how = training(compared_);
        how.replicas = 1;
        how.graph = {{"type", "complete"}};
        how.lr = rate();
        comm::World solitary{comm::alone()};
        Trainee trainee(solitary, problem, how, *subject_.row);
        Eigen::RowVectorXd x = trainee.parameters();
        double largest = 0;
        for (int64_t t = 0; t < compared_; ++t) {
            trainee.step();
            x -= how.lr(t) * problem.gradient(0, x.transpose()).transpose();
            largest = std::max(largest, difference(trainee.parameters(), x));
        }
        return largest;
    }

    /// Largest distance of a replica from the minimiser after many steps of rate lr.
    double error(const Problem& problem, double lr, int64_t iterations) {
        Training how = training(iterations);
        how.lr = constant_rate(lr);
        Trainee trainee(world_, problem, how, *subject_.row);
        for (int64_t t = 0; t < iterations; ++t) trainee.step();
        const Eigen::RowVectorXd best = problem.minimiser().transpose();
        return (trainee.parameters().rowwise() - best).rowwise().norm().maxCoeff();
    }

    /// Mean squared distance of the replicas' mean from the minimiser under noise, homogeneous
    /// data.
    double noisy_error(int64_t replicas) {
        constexpr int64_t kBurnIn = 1000, kIterations = 6000;
        const auto problem = quadratics(replicas, 0, 1);
        Training how = training(kIterations);
        how.replicas = replicas;
        how.lr = constant_rate(0.02 * rate_factor());
        how.noise = 1;
        if (how.graph.at("type") == "ring") how.graph = {{"type", "hypercube"}, {"lazy", 0.5}};
        Trainee trainee(world_, *problem, how, *subject_.row);
        const Eigen::RowVectorXd best = problem->minimiser().transpose();
        double sum = 0;
        for (int64_t t = 0; t < kIterations; ++t) {
            trainee.step();
            if (t < kBurnIn) continue;
            sum += (trainee.parameters().colwise().mean() - best).squaredNorm();
        }
        return sum / static_cast<double>(kIterations - kBurnIn);
    }

    /// Momentum makes steps 1 / (1 - beta) as long.
    double rate_factor() const {
        const Json algorithm = resolved_algorithm(subject_.algorithm, *subject_.row);
        const MeanRule rule = subject_.row->promises.mean;
        if (rule == MeanRule::gradient || rule == MeanRule::none) return 1;
        return 1 - algorithm.value("beta", 0.0);
    }

private:
    std::function<double(int64_t)> rate() const {
        if (subject_.row->promises.any_rate) return moving_rate;
        return constant_rate(kLr);
    }

    Training training(int64_t iterations) const {
        return training_of(subject_, graph_, options_.replicas, iterations);
    }

    comm::World& world_;
    const Subject& subject_;
    Json graph_;
    const Options& options_;
    int64_t compared_;
};

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
    report.graph = words(graph);
    report.skipped = unsuitable(subject.row->accepts, graph, n);
    if (!report.skipped.empty()) return report;

    Kit kit(world, subject, graph, options);
    auto& checks = report.checks;
    const auto quadratic = quadratics(n, 1, 1);
    const auto softmax = softmax_regression(n, 1);
    for (const Problem* problem : {quadratic.get(), softmax.get()}) {
        if (const auto d = kit.reference(*problem, graph, reference_of)) {
            checks.push_back(below("reference", *d, kRounding, problem->name()));
        }
    }
    const Json changing{{"type", "one_peer_exponential"}};
    const bool any_graph = subject.row->accepts.graph == algorithms::GraphNeed::doubly_stochastic;
    if (options.graph.is_null() && any_graph && subject.row->accepts.sequences) {
        if (const auto d = kit.reference(*quadratic, changing, reference_of)) {
            checks.push_back(below("reference", *d, kRounding, "one_peer_exponential"));
        }
    }
    const bool plain = plain_sgd(resolved_optimizer(subject));
    if (plain && subject.promised && promises.mean != MeanRule::none) {
        checks.push_back(below("mean", kit.mean_recursion(*softmax), kRounding));
    }
    if (plain && promises.tracker)
        checks.push_back(below("tracker", kit.tracker(*softmax), kRounding));
    checks.push_back(below("restart", kit.restart(*softmax), 0, "from the state table, bitwise"));
    if (plain && subject.promised && promises.plain_alone) {
        checks.push_back(below("n = 1", kit.alone(*quadratic), kRounding));
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
        return base::find_row(algorithms::algorithm_table(),
                              algorithm.at("type").get<std::string>());
    };
    const Subject left{equality.left, equality.left_optimizer, row(equality.left)};
    const Subject right{equality.right, equality.right_optimizer, row(equality.right)};
    const Json asked = equality.graph.empty() ? options.graph : Json{{"type", equality.graph}};
    // A graph that suits the choosier of the two.
    Json graph = suitable_graph(left.row->accepts, asked, options.replicas);
    if (asked.is_null() && !unsuitable(right.row->accepts, graph, options.replicas).empty()) {
        graph = suitable_graph(right.row->accepts, asked, options.replicas);
    }
    report.graph = words(graph);
    for (const Subject* side : {&left, &right}) {
        report.skipped = unsuitable(side->row->accepts, graph, options.replicas);
        if (!report.skipped.empty()) return report;
    }
    const auto problem = softmax_regression(options.replicas, 1);
    const int64_t steps = compared(world);
    Trainee a(world, *problem, training_of(left, graph, options.replicas, steps), *left.row);
    Trainee b(world, *problem, training_of(right, graph, options.replicas, steps), *right.row);
    double largest = 0;
    for (int64_t t = 0; t < steps; ++t) {
        a.step();
        b.step();
        largest = std::max(largest, difference(a.parameters(), b.parameters()));
    }
    report.checks.push_back(below("equal", largest, kRounding));
    return report;
}

}  // namespace dbench::conform
