#include "conform/kit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "comm/transport/launcher.hpp"
#include "conform/compressor.hpp"
#include "conform/reference.hpp"
#include "conform/stability.hpp"
#include "conform/trainee.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {

using algorithms::MeanRule;
using base::Json;

Kit::Kit(comm::World& world, const Subject& subject, const Json& graph, const Options& options)
    : world_(world),
      subject_(subject),
      graph_(graph),
      options_(options),
      compared_(compared(world)) {}

double Kit::ran_away(double so_far, const Json& graph) const {
    if (subject_.row->accepts.graph != algorithms::GraphNeed::none) {
        const auto schedule = graph_of(graph, options_.replicas, compared_);
        const Json algorithm = resolved_algorithm(subject_.algorithm, *subject_.row);
        if (growth(algorithm, *schedule).stable() == false) return so_far;
    }
    return std::numeric_limits<double>::infinity();
}

std::optional<Difference> Kit::reference(const Problem& problem, const Json& graph,
                                         const Json* reference_of, arena::DType type) {
    const int64_t n = options_.replicas, p = problem.parameters();
    Training training = training_of(subject_, graph, n, compared_);
    training.type = type;
    training.profiled = true;
    double lr_max = 0;
    for (int64_t t = 0; t < compared_; ++t) lr_max = std::max(lr_max, moving_rate(t));
    const Json algorithm = reference_of ? *reference_of : training.algorithm;
    std::vector<std::vector<int64_t>> tensors;
    const arena::Layout layout = layout_of(p);
    for (const arena::Tensor& tensor : layout.tensors()) tensors.push_back(tensor.shape);
    const auto reference = make_reference(algorithm, training.optimizer,
                                          {n, p, kPerEpoch, lr_max, tensors, training.seed});
    if (!reference) return std::nullopt;
    training.span = reference->span();
    Trainee trainee(world_, problem, training, *subject_.row);
    const auto schedule = graph_of(graph, n, compared_);
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
    Matrix x = trainee.parameters();
    Difference largest;
    largest.amplified = reference->amplifies();
    for (int64_t t = 0; t < compared_; t += training.span) {
        Recorded recorded;
        const auto compress = [&](const Matrix& v, int part) {
            return compressor.compress(v, t, part);
        };
        reference->step(
            {t, moving_rate(t), w, mean_weights(n), gradient, &recorded, compress,
             compressor.share(), 8.0 / static_cast<double>(arena::size_of(type)), distillation,
             [&](int64_t i, const Eigen::VectorXd& at) { return problem.around(i, at); },
             [&](int64_t i, const Eigen::VectorXd& at) { return problem.loss(i, at); },
             training.span, moving_rate},
            x);
        if (diverges(x)) {
            largest.parameters = ran_away(largest.parameters, graph);
            break;
        }
        trainee.step();
        largest.parameters = std::max(largest.parameters, difference(trainee.parameters(), x));
        const Record expected = record_of(recorded, static_cast<double>(arena::size_of(type)));
        largest.recorded = std::max(largest.recorded, difference(trainee.last_record(), expected));
    }
    return largest;
}

double Kit::mean_recursion(const Problem& problem, const Json& graph) {
    Training how = training(compared_);
    how.graph = graph;
    how.lr = rate();
    Trainee trainee(world_, problem, how, *subject_.row);
    const Json algorithm = resolved_algorithm(subject_.algorithm, *subject_.row);
    const double beta = algorithm.value("beta", 0.0);
    const Json mu_given = algorithm.value("mu", Json(nullptr));
    const double mu = mu_given.is_null() ? beta : mu_given.get<double>();
    const bool nesterov = algorithm.value("nesterov", false);
    using Row = Eigen::RowVectorXd;
    const char* const weight = subject_.row->promises.weight;
    const auto mean_of = [&](const Matrix& x) -> Row {
        if (!weight) return x.colwise().mean();
        return trainee.numbers(weight).transpose() * x / static_cast<double>(x.rows());
    };
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
        if (diverges(x)) return ran_away(largest, graph);
        mean = mean_of(x);
        largest = std::max(largest, difference(mean, next));
    }
    return largest;
}

double Kit::mass(const Problem& problem, const Json& graph) {
    Training how = training(compared_);
    how.graph = graph;
    Trainee trainee(world_, problem, how, *subject_.row);
    const std::string name = subject_.row->promises.weight;
    double largest = 0;
    for (int64_t t = 0; t < compared_; ++t) {
        trainee.step();
        double sum = trainee.numbers(name).sum();
        for (int64_t k = 0;; ++k) {
            const Eigen::VectorXd late = trainee.numbers(name + "_in_flight_" + std::to_string(k));
            if (late.size() == 0) break;
            sum += late.sum();
        }
        largest = std::max(largest, std::abs(sum / static_cast<double>(how.replicas) - 1));
    }
    return largest;
}

double Kit::tracker(const Problem& problem) {
    Trainee trainee(world_, problem, training(compared_), *subject_.row);
    double largest = 0;
    for (int64_t t = 0; t < compared_; ++t) {
        trainee.step();
        const algorithms::Promises& promises = subject_.row->promises;
        const Matrix y = trainee.state(promises.tracker);
        const Matrix tracked =
            promises.tracked ? trainee.state(promises.tracked) : trainee.last_gradients();
        largest = std::max(largest, difference(y.colwise().mean(), tracked.colwise().mean()));
    }
    return largest;
}

double Kit::restart(const Problem& problem) {
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

bool Kit::can_be_relabelled() const {
    const Training how = training(1);
    if (Compressor::keyed(how.message)) return false;
    const auto reference = make_reference(how.algorithm, how.optimizer, {1, kBiases + 1});
    return !reference || !reference->knows_replicas();
}

double Kit::relabelled(const Problem& problem) {
    const Training how = training(compared_);
    Training other = how;
    base::Random random(1, base::Purpose::regression, {5});
    other.who = base::permutation(options_.replicas, random);
    Trainee plain(world_, problem, how, *subject_.row);
    Trainee renamed(world_, problem, other, *subject_.row);
    double largest = 0;
    for (int64_t t = 0; t < compared_; ++t) {
        plain.step();
        renamed.step();
        const Matrix x = plain.parameters(), y = renamed.parameters();
        if (diverges(x)) return ran_away(largest, graph_);
        for (size_t i = 0; i < other.who.size(); ++i) {
            largest = std::max(
                largest, difference(y.row(static_cast<Eigen::Index>(i)), x.row(other.who[i])));
        }
    }
    return largest;
}

double Kit::alone(const Problem& problem) {
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

double Kit::error(const Problem& problem, double lr, int64_t iterations) {
    Training how = training(iterations);
    how.lr = constant_rate(lr);
    Trainee trainee(world_, problem, how, *subject_.row);
    for (int64_t t = 0; t < iterations; ++t) trainee.step();
    const Eigen::RowVectorXd best = problem.minimiser().transpose();
    return (trainee.parameters().rowwise() - best).rowwise().norm().maxCoeff();
}

double Kit::distilled(const Problem& problem, int64_t steps) {
    constexpr int64_t kLocal = 400;  // local steps: enough to come to the local minimisers
    Training how = training(kLocal);
    how.graph = {{"type", "complete"}};
    how.lr = constant_rate(0.5);
    how.algorithm["period"] = kLocal;
    how.algorithm["distill_steps"] = steps;
    how.algorithm["distill_lr"] = 0.5;
    Trainee trainee(world_, problem, how, *subject_.row);
    for (int64_t t = 0; t < kLocal; ++t) trainee.step();
    const Eigen::RowVectorXd best = problem.minimiser().transpose();
    return (trainee.parameters().rowwise() - best).rowwise().norm().maxCoeff();
}

double Kit::noisy_error(int64_t replicas) {
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

double Kit::rate_factor() const {
    const Json algorithm = resolved_algorithm(subject_.algorithm, *subject_.row);
    const MeanRule rule = subject_.row->promises.mean;
    if (rule == MeanRule::gradient || rule == MeanRule::none) return 1;
    return 1 - algorithm.value("beta", 0.0);
}

std::function<double(int64_t)> Kit::rate() const {
    if (subject_.row->promises.any_rate) return moving_rate;
    return constant_rate(kLr);
}

Training Kit::training(int64_t iterations) const {
    return training_of(subject_, graph_, options_.replicas, iterations);
}

}  // namespace dbench::conform
