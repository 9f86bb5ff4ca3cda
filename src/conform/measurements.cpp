#include "conform/measurements.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/streams.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/compressor.hpp"
#include "conform/production_run.hpp"
#include "conform/reference.hpp"
#include "conform/stability.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {

using algorithms::MeanRule;
using base::Json;

Measurements::Measurements(comm::World& world, const ConformanceCase& tested, const Json& graph,
                           const Options& options)
    : world_(world),
      tested_(tested),
      graph_(graph),
      options_(options),
      iterations_(iterations_to_compare(world)) {}

double Measurements::result_if_diverged(double so_far, const Json& graph) const {
    if (tested_.row->traits.graph != algorithms::GraphNeed::none) {
        const auto schedule = graph_of(graph, options_.replicas, iterations_);
        const Json algorithm = resolved_algorithm(tested_.algorithm, *tested_.row);
        if (growth(algorithm, *schedule).stable() == false) return so_far;
    }
    return std::numeric_limits<double>::infinity();
}

std::optional<Difference> Measurements::reference(const Problem& problem, const Json& graph,
                                                  const Json* reference_of, arena::DType type) {
    const int64_t n = options_.replicas, p = problem.parameters();
    TrainingSettings training = training_of(tested_, graph, n, iterations_);
    training.type = type;
    training.profiled = true;
    double lr_max = 0;
    for (int64_t t = 0; t < iterations_; ++t) lr_max = std::max(lr_max, varying_rate(t));
    const Json algorithm = reference_of ? *reference_of : training.algorithm;
    std::vector<std::vector<int64_t>> tensors;
    const arena::Layout layout = layout_of(p);
    for (const arena::Tensor& tensor : layout.tensors()) tensors.push_back(tensor.shape);
    const auto reference = make_reference(algorithm, training.optimizer,
                                          {n, p, kPerEpoch, lr_max, tensors, training.seed});
    if (!reference) return std::nullopt;
    training.span = reference->span();
    ProductionRun production_run(world_, problem, training, *tested_.row);
    const auto schedule = graph_of(graph, n, iterations_);
    const auto w = [&](int64_t k) { return weights_of(*schedule, schedule->at(k)); };
    const auto gradient = [&](const Matrix& at) {
        Matrix g(n, p);
        for (int64_t i = 0; i < n; ++i) g.row(i) = problem.gradient(i, at.row(i));
        return g;
    };
    const auto distillation = [&](const Matrix& student, const Matrix& teacher,
                                  double temperature) {
        Matrix g(n, p);
        for (int64_t i = 0; i < n; ++i) {
            g.row(i) = problem.distillation(i, student.row(i), teacher.row(i), temperature);
        }
        return g;
    };
    const Compressor compressor(training.message, p, training.seed);
    Matrix x = production_run.parameters();
    Difference largest;
    largest.amplified = reference->amplification();
    for (int64_t t = 0; t < iterations_; t += training.span) {
        RecordedIteration recorded;
        const auto compress = [&](const Matrix& v, int part) {
            return compressor.compress(v, t, part);
        };
        reference->step(
            {t, varying_rate(t), w, mean_weights(n), gradient, &recorded, compress,
             compressor.share(), 8.0 / static_cast<double>(arena::size_of(type)), distillation,
             [&](int64_t i, const Eigen::VectorXd& at) { return problem.around(i, at); },
             [&](int64_t i, const Eigen::VectorXd& at) { return problem.loss(i, at); },
             training.span, varying_rate},
            x);
        if (diverges(x)) {
            largest.parameters = result_if_diverged(largest.parameters, graph);
            break;
        }
        production_run.step();
        largest.parameters =
            std::max(largest.parameters, difference(production_run.parameters(), x));
        const Record expected = record_of(recorded, static_cast<double>(arena::size_of(type)));
        largest.recorded =
            std::max(largest.recorded, difference(production_run.last_record(), expected));
    }
    return largest;
}

double Measurements::mean_recursion(const Problem& problem, const Json& graph) {
    TrainingSettings how = training(iterations_);
    how.graph = graph;
    how.lr = rate();
    ProductionRun production_run(world_, problem, how, *tested_.row);
    const Json algorithm = resolved_algorithm(tested_.algorithm, *tested_.row);
    const double beta = algorithm.value("beta", 0.0);
    const Json mu_given = algorithm.value("mu", Json(nullptr));
    const double mu = mu_given.is_null() ? beta : mu_given.get<double>();
    const bool nesterov = algorithm.value("nesterov", false);
    using Row = Eigen::RowVectorXd;
    const char* const weight = tested_.row->traits.weight;
    const auto mean_of = [&](const Matrix& x) -> Row {
        if (!weight) return x.colwise().mean();
        return production_run.numbers(weight).transpose() * x / static_cast<double>(x.rows());
    };
    Row mean = production_run.parameters().colwise().mean();
    Row m = Row::Zero(mean.size());
    double largest = 0;
    for (int64_t t = 0; t < iterations_; ++t) {
        production_run.step();
        const Row g = production_run.last_gradients().colwise().mean();
        Row direction = g;
        switch (tested_.row->traits.mean) {
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
        const Matrix x = production_run.parameters();
        if (diverges(x)) return result_if_diverged(largest, graph);
        mean = mean_of(x);
        largest = std::max(largest, difference(mean, next));
    }
    return largest;
}

double Measurements::mass(const Problem& problem, const Json& graph) {
    TrainingSettings how = training(iterations_);
    how.graph = graph;
    ProductionRun production_run(world_, problem, how, *tested_.row);
    const std::string name = tested_.row->traits.weight;
    double largest = 0;
    for (int64_t t = 0; t < iterations_; ++t) {
        production_run.step();
        double sum = production_run.numbers(name).sum();
        for (int64_t k = 0;; ++k) {
            const Eigen::VectorXd late =
                production_run.numbers(name + "_in_flight_" + std::to_string(k));
            if (late.size() == 0) break;
            sum += late.sum();
        }
        largest = std::max(largest, std::abs(sum / static_cast<double>(how.replicas) - 1));
    }
    return largest;
}

double Measurements::tracker(const Problem& problem) {
    ProductionRun production_run(world_, problem, training(iterations_), *tested_.row);
    double largest = 0;
    for (int64_t t = 0; t < iterations_; ++t) {
        production_run.step();
        const algorithms::Traits& traits = tested_.row->traits;
        const Matrix y = production_run.state(traits.tracker);
        const Matrix tracked =
            traits.tracked ? production_run.state(traits.tracked) : production_run.last_gradients();
        largest = std::max(largest, difference(y.colwise().mean(), tracked.colwise().mean()));
    }
    return largest;
}

double Measurements::restart(const Problem& problem, const Json& graph) {
    TrainingSettings how = training(iterations_);
    how.graph = graph;
    ProductionRun whole(world_, problem, how, *tested_.row);
    for (int64_t t = 0; t < iterations_ / 2; ++t) whole.step();
    ProductionRun second(world_, problem, how, *tested_.row);
    second.restore(whole.save(), iterations_ / 2);
    for (int64_t t = iterations_ / 2; t < iterations_; ++t) {
        whole.step();
        second.step();
    }
    const Matrix a = whole.parameters(), b = second.parameters();
    const size_t bytes = static_cast<size_t>(a.size()) * sizeof(double);
    return std::memcmp(a.data(), b.data(), bytes) == 0 ? 0 : 1;
}

bool Measurements::can_be_relabelled() const {
    const TrainingSettings how = training(1);
    if (Compressor::keyed(how.message)) return false;
    const auto reference = make_reference(how.algorithm, how.optimizer, {1, kBiases + 1});
    return !reference || !reference->distinguishes_replicas();
}

double Measurements::relabelled(const Problem& problem) {
    const TrainingSettings how = training(iterations_);
    TrainingSettings other = how;
    auto random = base::random_stream(1, base::ProblemStream::relabelling);
    other.relabelling = base::permutation(options_.replicas, random);
    ProductionRun plain(world_, problem, how, *tested_.row);
    ProductionRun renamed(world_, problem, other, *tested_.row);
    double largest = 0;
    for (int64_t t = 0; t < iterations_; ++t) {
        plain.step();
        renamed.step();
        const Matrix x = plain.parameters(), y = renamed.parameters();
        if (diverges(x)) return result_if_diverged(largest, graph_);
        for (size_t i = 0; i < other.relabelling.size(); ++i) {
            largest = std::max(largest, difference(y.row(static_cast<Eigen::Index>(i)),
                                                   x.row(other.relabelling[i])));
        }
    }
    return largest;
}

double Measurements::single_replica(const Problem& problem) {
    TrainingSettings how = training(iterations_);
    how.replicas = 1;
    how.graph = {{"type", "complete"}};
    how.lr = rate();
    comm::World solitary{comm::alone()};
    ProductionRun production_run(solitary, problem, how, *tested_.row);
    Eigen::RowVectorXd x = production_run.parameters();
    double largest = 0;
    for (int64_t t = 0; t < iterations_; ++t) {
        production_run.step();
        x -= how.lr(t) * problem.gradient(0, x.transpose()).transpose();
        largest = std::max(largest, difference(production_run.parameters(), x));
    }
    return largest;
}

double Measurements::error(const Problem& problem, double lr, int64_t iterations) {
    TrainingSettings how = training(iterations);
    how.lr = constant_rate(lr);
    ProductionRun production_run(world_, problem, how, *tested_.row);
    for (int64_t t = 0; t < iterations; ++t) production_run.step();
    const Eigen::RowVectorXd best = problem.minimiser().transpose();
    return (production_run.parameters().rowwise() - best).rowwise().norm().maxCoeff();
}

double Measurements::distilled(const Problem& problem, int64_t steps) {
    constexpr int64_t kLocal = 400;  // local steps: enough to come to the local minimisers
    TrainingSettings how = training(kLocal);
    how.graph = {{"type", "complete"}};
    how.lr = constant_rate(0.5);
    how.algorithm["period"] = kLocal;
    how.algorithm["distill_steps"] = steps;
    how.algorithm["distill_lr"] = 0.5;
    ProductionRun production_run(world_, problem, how, *tested_.row);
    for (int64_t t = 0; t < kLocal; ++t) production_run.step();
    const Eigen::RowVectorXd best = problem.minimiser().transpose();
    return (production_run.parameters().rowwise() - best).rowwise().norm().maxCoeff();
}

double Measurements::noisy_error(int64_t replicas) {
    constexpr int64_t kBurnIn = 1000, kIterations = 6000;
    const auto problem = quadratics(replicas, 0, 1);
    TrainingSettings how = training(kIterations);
    how.replicas = replicas;
    how.lr = constant_rate(0.02 * rate_factor());
    how.noise = 1;
    if (how.graph.at("type") == "ring") how.graph = {{"type", "hypercube"}, {"lazy", 0.5}};
    ProductionRun production_run(world_, *problem, how, *tested_.row);
    const Eigen::RowVectorXd best = problem->minimiser().transpose();
    double sum = 0;
    for (int64_t t = 0; t < kIterations; ++t) {
        production_run.step();
        if (t < kBurnIn) continue;
        sum += (production_run.parameters().colwise().mean() - best).squaredNorm();
    }
    return sum / static_cast<double>(kIterations - kBurnIn);
}

double Measurements::rate_factor() const {
    const Json algorithm = resolved_algorithm(tested_.algorithm, *tested_.row);
    const MeanRule rule = tested_.row->traits.mean;
    if (rule == MeanRule::gradient || rule == MeanRule::none) return 1;
    return 1 - algorithm.value("beta", 0.0);
}

std::function<double(int64_t)> Measurements::rate() const {
    if (tested_.row->traits.any_rate) return varying_rate;
    return constant_rate(kLr);
}

TrainingSettings Measurements::training(int64_t iterations) const {
    return training_of(tested_, graph_, options_.replicas, iterations);
}

}  // namespace dbench::conform
