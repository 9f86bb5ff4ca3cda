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

/// A copy of rows, to restore them after the measurement.
class SavedRows {
public:
    SavedRows(const arena::Rows& rows, const arena::Layout& layout, arena::Queue& queue)
        : rows_(rows), all_(layout.all()), queue_(queue) {
        if (all_.count() == 0) return;
        copy_ = queue.memories().rows(rows.type, rows.first, rows.count, rows.stride);
        arena::copy(rows_, copy_.rows(), all_, queue_);
    }
    void restore() const {
        if (all_.count() > 0) arena::copy(copy_.rows(), rows_, all_, queue_);
    }

private:
    arena::Rows rows_;
    arena::Columns all_;
    arena::Queue& queue_;
    arena::Buffer copy_;
};

constexpr double kOutOfMemory = std::numeric_limits<double>::infinity();

/// The result of a measurement. `seconds`: the shortest of several times for the gradients of all
/// local replicas; kOutOfMemory if the device has too little memory.
struct Timed {
    double seconds = kOutOfMemory;
    bool uncaptured = false;  ///< passes were not captured although they should be
};

/// Measures gradients with `options` for at least `seconds` seconds.
Timed measure(const Model& model, Replicas& replicas, const PassOptions& options,
              const data::Batch& batch, double seconds) {
    const arena::Rows x = replicas.x();
    Device& device = replicas.device();
    arena::Queue& queue = device.place().compute();
    algorithms::Timers timers(arena::host_queue());
    timers.start();
    auto scores = device.place().values<double>(static_cast<size_t>(2 * x.count));
    std::unique_ptr<Executor> executor;
    Timed least;
    const auto abandon = [&] {
        least = {};
        for (arena::Queue* const other : device.side_queues()) {
            arena::finish(*other, "abandoned passes");
        }
        if (arena::Queue* const uploads = device.upload_queue()) {
            arena::finish(*uploads, "abandoned minibatches");
        }
        arena::finish(queue, "abandoned gradients");
    };
    try {
        executor = std::make_unique<Executor>(model, replicas, options);
        // The first iterations warm up, and so does the one that captures.
        const int64_t warm = options.captured > 0 ? CapturedPasses::kWarm + 1 : 1;
        const base::Stopwatch since;
        for (int64_t round = 0; round < warm + 2 || since.seconds() < seconds; ++round) {
            const base::Stopwatch watch;
            executor->gradients(
                0, x, [&](int64_t) -> const data::Batch& { return batch; }, timers,
                [](arena::Columns) {}, scores.data(), scores.data() + x.count);
            arena::finish(queue, "measured gradients");
            if (round >= warm) least.seconds = std::min(least.seconds, watch.seconds());
        }
        least.uncaptured = !executor->uncaptured().empty();
    } catch (const c10::OutOfMemoryError&) {  // memory of LibTorch
        abandon();
    } catch (const arena::DeviceMemoryError&) {  // rows
        abandon();
    }
    executor.reset();
    device.release_cached_memory();
    return least;
}

/// Measures all ways, one after another, so that each one can use all free memory. Restores the
/// replicas' state.
std::vector<Timed> measure(const std::vector<Stacking>& ways, const Model& model,
                           Replicas& replicas, PassOptions options, const data::Batch& batch) {
    constexpr double kLong = 1;  // seconds, for all ways together
    arena::Queue& queue = replicas.device().place().compute();
    const SavedRows statistics(replicas.buffers(), replicas.buffer_layout(), queue);
    const SavedRows carried(replicas.carried(), replicas.carried_layout(), queue);
    std::vector<Timed> least;
    for (const Stacking way : ways) {
        options.stacking = way;
        least.push_back(
            measure(model, replicas, options, batch, kLong / static_cast<double>(ways.size())));
    }
    statistics.restore();
    carried.restore();
    arena::finish(queue, "state restored after a measurement");
    return least;
}

std::string milliseconds(double seconds) {
    if (seconds == kOutOfMemory) return "more memory than there is";
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return text;
}

const char* words_of(Stacking way) {
    if (way == Stacking::streams) return "on streams";
    return way == Stacking::batched ? "batched" : "one by one";
}

}  // namespace

StackingChoice choose_stacking(comm::World& world, const comm::Placement& placement,
                               const RunSpec& spec, const StackingObstacles& obstacles,
                               const Model& model, Replicas& replicas, const PassOptions& options,
                               const data::Batch& batch) {
    if (spec.stacking == Stacking::off) return {Stacking::off, ""};
    if (placement.replicas == placement.ranks) return {Stacking::off, "a rank has one replica"};
    if (spec.stacking != Stacking::automatic) return {spec.stacking, ""};
    std::vector<Stacking> ways;
    if (obstacles.batched.empty()) ways.push_back(Stacking::batched);
    if (obstacles.streams.empty()) ways.push_back(Stacking::streams);
    if (ways.empty()) return {Stacking::off, obstacles.batched};
    ways.push_back(Stacking::off);
    const std::vector<Timed> timed = measure(ways, model, replicas, options, batch);
    std::vector<double> seconds;
    for (const Timed& each : timed) seconds.push_back(each.seconds);
    world.sum(seconds);
    std::string reason = "gradients of an iteration take ";
    for (size_t k = 0; k < ways.size(); ++k) {
        if (k > 0) reason += ", ";
        reason += milliseconds(seconds[k] / world.size()) + " " + words_of(ways[k]);
        if (timed[k].uncaptured) reason += " (not captured)";
    }
    // Among equally fast ways it takes the last one, which uses the least memory.
    const auto quickest = std::min_element(seconds.rbegin(), seconds.rend());
    return {ways[static_cast<size_t>(seconds.rend() - quickest - 1)], reason};
}

std::string to_text(const StackingChoice& choice) {
    std::string text = "off";
    if (choice.way == Stacking::streams) text = "streams";
    if (choice.way == Stacking::batched) text = "batched";
    return text + (choice.reason.empty() ? "" : " (" + choice.reason + ")");
}

}  // namespace dbench::train
