#include "train/stacking.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "arena/kernels.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "train/executor.hpp"
#include "train/replicas.hpp"
#include "train/stacked_pass.hpp"

namespace dbench::train {
namespace {

/// Of all local replicas' gradients, the shortest of several times.
struct Seconds {
    double one_by_one, batched;
};

Seconds measure(const Model& model, Replicas& replicas, double smoothing,
                const data::Batch& batch) {
    constexpr double kLong = 1;  // seconds
    const arena::Rows x = replicas.x(), statistics = replicas.buffers();
    const arena::Columns all = replicas.buffer_layout().all();
    arena::Buffer kept(statistics.type, statistics.first, statistics.count, statistics.stride);
    arena::copy(statistics, kept.rows(), all);
    Executor executor(model, replicas, {.smoothing = smoothing});
    StackedPass stacked(model, replicas, smoothing);
    algorithms::Timers timers;
    timers.start();
    std::vector<double> loss(static_cast<size_t>(x.count)), accuracy(loss.size());
    Seconds least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    const base::Stopwatch since;
    for (int round = 0; round < 2 || since.seconds() < kLong; ++round) {  // the first warms up
        base::Stopwatch watch;
        for (int64_t i = 0; i < x.count; ++i) executor.gradient(0, x, i, batch, timers);
        least.one_by_one = std::min(least.one_by_one, watch.lap());
        stacked.gradients(
            x, [&](int64_t) -> const data::Batch& { return batch; }, loss.data(), accuracy.data(),
            [](int) {});
        least.batched = std::min(least.batched, watch.lap());
    }
    arena::copy(kept.rows(), statistics, all);
    return least;
}

std::string milliseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return text;
}

}  // namespace

std::string stacking_obstacle(const Model& model, const data::Dataset& train,
                              const data::BatchPlan& batches, int64_t parts,
                              const algorithms::AlgorithmEntry& row) {
    if (row.accepts.asynchronous || row.accepts.linearises) {
        return row.name + " takes its replicas one by one";
    }
    if (train.ragged() || batches.full) return "minibatches may differ in size";
    if (parts > 1) return "/data/accumulate takes a minibatch by parts";
    return cannot_stack(model);
}

void check_stacking(const RunSpec& spec, const std::string& obstacle) {
    if (spec.stacking != Stacking::batched || obstacle.empty()) return;
    throw base::UserError("/stacking: replicas cannot pass the model together (" + obstacle +
                          "): leave it out");
}

StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const std::string& obstacle, const Model& model,
                               Replicas& replicas, const data::Batch& batch) {
    if (spec.stacking == Stacking::off) return {false, ""};
    if (placement.replicas == placement.ranks) return {false, "a rank has one replica"};
    if (spec.stacking == Stacking::batched) return {true, ""};
    if (!obstacle.empty()) return {false, obstacle};
    const Seconds here = measure(model, replicas, spec.label_smoothing, batch);
    std::vector<double> seconds = {here.one_by_one, here.batched};
    world.sum(seconds);
    const double ranks = world.size();
    return {seconds[1] < seconds[0], "gradients of an iteration take " +
                                         milliseconds(seconds[1] / ranks) + " batched, " +
                                         milliseconds(seconds[0] / ranks) + " one by one"};
}

}  // namespace dbench::train
