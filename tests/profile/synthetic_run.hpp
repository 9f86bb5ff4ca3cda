#pragma once
// A synthetic run without training. Every number is a function of its position, so that a reader
// knows what it should find.

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "arena/layout.hpp"
#include "base/folder.hpp"
#include "comm/placement.hpp"
#include "comm/transport/launcher.hpp"
#include "comm/world/world.hpp"
#include "profile/recorder.hpp"

namespace dbench::profile::tests {

using base::Folder;

/// Matrix k of n replicas: replica i takes three quarters of its own row and a quarter of the row
/// of replica i + k + 1 (mod n). Iteration t uses matrix t mod `matrices`; with `matrices` 0 each
/// iteration has its own matrix.
class ShiftSchedule : public graphs::Schedule {
public:
    ShiftSchedule(int n, int64_t matrices) : n_(n), matrices_(matrices) {}

    int size() const override { return n_; }
    graphs::Round at(int64_t t) const override {
        return {static_cast<uint64_t>(matrices_ ? t % matrices_ : t), matrices_ > 0};
    }
    std::vector<graphs::Link> in(graphs::Round round, int i) const override {
        const int other = (i + 1 + static_cast<int>(round.matrix)) % n_;
        if (other == i) return {{i, 1.0}};
        if (other < i) return {{other, 0.25}, {i, 0.75}};
        return {{i, 0.75}, {other, 0.25}};
    }
    std::vector<graphs::Link> out(graphs::Round, int) const override { return {}; }
    std::vector<std::vector<int>> groups(graphs::Round) const override { return {}; }
    int64_t period() const override { return matrices_; }

private:
    int n_;
    int64_t matrices_;
};

struct SyntheticRun {
    int64_t replicas = 5, iterations = 20, every = 2, variance_every = 4, evaluated = 3;
    int64_t tensors = 4;
    bool norms = true, variance = true, after = true, validation = true;
    arena::DType precision = arena::DType::float32;
    double estimate = 0.01;
    double step = 0;  ///< Seconds that an iteration takes; 0: invented times.
    bool overwrite = false;
    const graphs::Schedule* schedule = nullptr;
    int64_t graphs = 256;
    int64_t nan_from = std::numeric_limits<int64_t>::max();
    std::string path;

    static double loss(int64_t t, int64_t i) { return 2 + std::sin(0.1 * t + i); }
    static double accuracy(int64_t t, int64_t i) { return ((3 * t + i) % 32) / 32.0; }
    static double norm(int64_t t, int64_t i, int64_t k) {
        return 1 + k + 0.3 * std::cos(t + i * k);
    }
    static double update_norm(int64_t t, int64_t i) { return 0.5 + 0.01 * t + i; }
    static double gradient_norm(int64_t t, int64_t i) { return 7.25 + t + 0.125 * i; }
    static double variance_of(int64_t t, int64_t k) { return 1.0 / (1 + t + k); }
    /// Part 0 is step_time; part 5 is the time of profiling.
    double time(int64_t t, int rank, int part) const {
        if (step > 0) return part == 0 ? step : 0.1 * step + rank;
        return 1e-3 * (t + 1) + rank + 0.1 * part;
    }

    RecorderOptions options() const {
        RecorderOptions o;
        o.path = path;
        o.overwrite = overwrite;
        o.name = "synthetic";
        o.spec = R"({"name": "synthetic", "replicas": )" + std::to_string(replicas) + "}";
        o.provenance = R"({"version": "0"})";
        o.certificate = schedule ? R"({"type": "shift", "rho": 0.75})" : "";
        o.certificate_of = schedule ? R"({"type": "shift"})" : "";
        for (int64_t k = 0; k < tensors; ++k) {
            const auto kind = static_cast<arena::TensorKind>(k % 3);
            o.tensors.push_back({"layer" + std::to_string(k) + ".weight", {k + 1}, kind, k + 1, 0});
        }
        o.precision = precision;
        o.cpus = 3;
        for (int64_t j = 0; j < evaluated; ++j) {
            o.evaluated.push_back(j * replicas / evaluated);
        }
        o.features.validation = validation;
        o.features.norms = norms;
        o.features.variance = variance;
        o.features.after = after;
        o.every = every;
        o.variance_every = variance_every;
        o.schedule = schedule;
        o.max_random_matrices = graphs;
        o.iterations = iterations;
        o.samples_per_iteration = 32.0 * static_cast<double>(replicas);
        o.seconds_per_iteration = estimate;
        return o;
    }

    algorithms::IterationRecord record(int64_t t, int64_t first, int64_t count, int rank) const {
        algorithms::IterationRecord r;
        const bool bad = t >= nan_from;
        r.iteration = t;
        r.epoch = (t + 1) / 8.0;
        r.lr = 0.1 / (t + 1);
        r.averaged = schedule != nullptr && t != 3;  // Iteration 3 is a local step.
        if (schedule) r.round = schedule->at(t);
        r.averagings = r.averaged;
        r.degree = r.averaged ? 1 : 0;
        r.messages = r.averaged ? replicas : 0;
        r.bytes_sent = 40.0 * static_cast<double>(r.messages);
        using algorithms::Time;
        const Time parts[] = {Time::step,     Time::data,    Time::gradient, Time::update,
                              Time::exchange, Time::profile, Time::delay};
        for (int part = 0; part < 7; ++part) r.times[parts[part]] = time(t, rank, part);
        r.profile_bytes = 100.0 + static_cast<double>(t);
        r.profiled = norms && t % every == 0;
        for (int64_t i = first; i < first + count; ++i) {
            r.loss.push_back(bad ? std::nan("") : loss(t, i));
            r.accuracy.push_back(accuracy(t, i));
            if (!r.profiled) continue;
            for (int64_t k = 0; k < tensors; ++k)
                r.norm.push_back(bad ? std::nan("") : norm(t, i, k));
            r.update_norm.push_back(update_norm(t, i));
            r.gradient_norm.push_back(gradient_norm(t, i));
        }
        r.has_variance = variance && t % variance_every == 0;
        if (!r.has_variance) return r;
        for (int64_t k = 0; k < tensors; ++k) {
            r.variance.push_back(bad ? INFINITY : variance_of(t, k));
            if (after) r.variance_after.push_back(variance_of(t, k) / 2);
        }
        r.consensus_distance = 1 + t;
        r.consensus_distance_after = 0.5 + t;
        return r;
    }

    algorithms::Scores scores(int64_t completed, double offset) const {
        algorithms::Scores s;
        for (int64_t j = 0; j < evaluated; ++j) {
            s.local_accuracy.push_back(offset + 0.01 * completed + 0.001 * j);
            s.local_loss.push_back(offset + 3 - 0.0625 * j);
        }
        s.mean_accuracy = offset + 0.02 * completed;
        s.mean_loss = offset + 2.5;
        return s;
    }

    algorithms::EvaluationRecord evaluation(int64_t completed) const {
        algorithms::EvaluationRecord e;
        e.iteration = completed;
        e.epoch = completed / 8.0;
        e.elapsed = 0.25 * static_cast<double>(completed);
        e.test = scores(completed, 0);
        if (validation) e.validation = scores(completed, 0.5);
        return e;
    }

    /// Records iterations [0, iterations), with evaluations before and after. Calls `between` after
    /// each iteration.
    void record_all(
        comm::World& world, Recorder& recorder,
        const std::function<void(int64_t)>& between = [](int64_t) {}) const {
        const comm::Placement placement{replicas, world.size()};
        const int64_t first = placement.begin(world.rank()), count = placement.count(world.rank());
        recorder.evaluation(evaluation(0));
        for (int64_t t = 0; t < iterations; ++t) {
            recorder.iteration(record(t, first, count, world.rank()));
            between(t);
        }
        recorder.evaluation(evaluation(iterations));
    }

    void write(comm::World& world) const {
        Recorder recorder(world, comm::Placement{replicas, world.size()}, options());
        if (world.rank() == 0) recorder.event(0, "graph", "matrix 0");
        record_all(world, recorder);
        recorder.finish("complete");
    }
};

}  // namespace dbench::profile::tests
