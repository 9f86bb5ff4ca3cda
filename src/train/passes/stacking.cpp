#include "train/passes/stacking.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/kernels.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "train/device/device.hpp"
#include "train/passes/captured_passes.hpp"
#include "train/passes/stacked_pass.hpp"
#include "train/replicas.hpp"

namespace dbench::train {
namespace {

/// Rows as they are now, for afterwards.
class Kept {
public:
    Kept(const arena::Rows& rows, const arena::Layout& layout, arena::Queue* queue)
        : rows_(rows), all_(layout.all()), queue_(queue) {
        if (all_.count() == 0) return;
        kept_ = arena::Buffer(rows.type, rows.first, rows.count, rows.stride);
        arena::copy(rows_, kept_.rows(), all_, queue_);
    }
    void restore() const {
        if (all_.count() > 0) arena::copy(kept_.rows(), rows_, all_, queue_);
    }

private:
    arena::Rows rows_;
    arena::Columns all_;
    arena::Queue* queue_;
    arena::Buffer kept_;
};

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Seconds of all local replicas' gradients, the shortest of several times; kNever where a device
/// has too little memory for that.
struct Timed {
    double seconds = kNever;
    bool uncaptured = false;  ///< though they were to be
};

/// As `passes` says.
Timed measure(const Model& model, Replicas& replicas, const Passes& passes,
              const data::Batch& batch, double seconds) {
    const arena::Rows x = replicas.x();
    Device& device = replicas.device();
    arena::Queue* const queue = device.queues().compute;
    algorithms::Timers timers;
    timers.start();
    arena::Values<double> scores(static_cast<size_t>(2 * x.count));
    std::unique_ptr<Executor> executor;
    Timed least;
    try {
        executor = std::make_unique<Executor>(model, replicas, passes);
        // The first ones warm up; so does the one that captures.
        const int64_t warm = passes.captured > 0 ? CapturedPasses::kWarm + 1 : 1;
        const base::Stopwatch since;
        for (int64_t round = 0; round < warm + 2 || since.seconds() < seconds; ++round) {
            const base::Stopwatch watch;
            executor->gradients(
                0, x, [&](int64_t) -> const data::Batch& { return batch; }, timers,
                [](arena::Columns) {}, scores.data(), scores.data() + x.count);
            arena::finish(queue, "gradients that are timed");
            if (round >= warm) least.seconds = std::min(least.seconds, watch.seconds());
        }
        least.uncaptured = !executor->uncaptured().empty();
    } catch (const c10::OutOfMemoryError&) {
        least = {};
        for (arena::Queue* const other : device.side_queues()) {
            arena::finish(other, "passes that are given up");
        }
        arena::finish(device.upload_queue(), "minibatches that are given up");
        arena::finish(queue, "gradients that are given up");
    }
    executor.reset();
    device.give_back();
    return least;
}

/// The same of each way, one after another: each has the memory that there is.
std::vector<Timed> measure(const std::vector<Stacking>& ways, const Model& model,
                           Replicas& replicas, Passes passes, const data::Batch& batch) {
    constexpr double kLong = 1;  // seconds
    arena::Queue* const queue = replicas.device().queues().compute;
    const Kept statistics(replicas.buffers(), replicas.buffer_layout(), queue);
    const Kept carried(replicas.carried(), replicas.carried_layout(), queue);
    std::vector<Timed> least;
    for (const Stacking way : ways) {
        passes.stacking = way;
        least.push_back(
            measure(model, replicas, passes, batch, kLong / static_cast<double>(ways.size())));
    }
    statistics.restore();
    carried.restore();
    arena::finish(queue, "what timing has changed, set back");
    return least;
}

std::string milliseconds(double seconds) {
    if (seconds == kNever) return "more memory than there is";
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return text;
}

const char* words_of(Stacking way) {
    if (way == Stacking::streams) return "on streams";
    return way == Stacking::batched ? "batched" : "one by one";
}

std::string obstacle_of_batched(const Model& model, const data::Dataset& train,
                                const data::BatchPlan& batches, int64_t parts) {
    if (train.ragged() || batches.full) return "minibatches may differ in size";
    if (parts > 1) return "/data/accumulate takes a minibatch by parts";
    return cannot_stack(model);
}

}  // namespace

StackingObstacles stacking_obstacles(const Device& device, const Model& model,
                                     const data::Dataset& train, const data::BatchPlan& batches,
                                     int64_t parts, const algorithms::AlgorithmEntry& row) {
    StackingObstacles found{"", obstacle_of_batched(model, train, batches, parts)};
    if (device.is_host()) {
        found.streams = "the CPU has no streams: replicas would still pass one by one";
    }
    if (row.accepts.asynchronous || row.accepts.linearises) {
        found.streams = found.batched = row.name + " takes its replicas one by one";
    }
    return found;
}

void check_stacking(const RunSpec& spec, const StackingObstacles& obstacles) {
    const auto refuse = [](const char* how, const std::string& obstacle) {
        if (obstacle.empty()) return;
        throw base::UserError(std::string("/stacking: replicas cannot pass the model ") + how +
                              " (" + obstacle + "): leave it out");
    };
    if (spec.stacking == Stacking::streams) refuse("side by side", obstacles.streams);
    if (spec.stacking == Stacking::batched) refuse("together", obstacles.batched);
}

StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const StackingObstacles& obstacles,
                               const Model& model, Replicas& replicas, const Passes& passes,
                               const data::Batch& batch) {
    if (spec.stacking == Stacking::off) return {Stacking::off, ""};
    if (placement.replicas == placement.ranks) return {Stacking::off, "a rank has one replica"};
    if (spec.stacking != Stacking::automatic) return {spec.stacking, ""};
    std::vector<Stacking> ways;
    if (obstacles.batched.empty()) ways.push_back(Stacking::batched);
    if (obstacles.streams.empty()) ways.push_back(Stacking::streams);
    if (ways.empty()) return {Stacking::off, obstacles.batched};
    ways.push_back(Stacking::off);
    const std::vector<Timed> timed = measure(ways, model, replicas, passes, batch);
    std::vector<double> seconds;
    for (const Timed& each : timed) seconds.push_back(each.seconds);
    world.sum(seconds);
    std::string told = "gradients of an iteration take ";
    for (size_t k = 0; k < ways.size(); ++k) {
        if (k > 0) told += ", ";
        told += milliseconds(seconds[k] / world.size()) + " " + words_of(ways[k]);
        if (timed[k].uncaptured) told += " (not captured)";
    }
    // Of equally quick ones the last, whose memory is the least.
    const auto quickest = std::min_element(seconds.rbegin(), seconds.rend());
    return {ways[static_cast<size_t>(seconds.rend() - quickest - 1)], told};
}

std::string to_text(const StackingChoice& choice) {
    std::string text = "off";
    if (choice.way == Stacking::streams) text = "streams";
    if (choice.way == Stacking::batched) text = "batched";
    return text + (choice.reason.empty() ? "" : " (" + choice.reason + ")");
}

}  // namespace dbench::train
