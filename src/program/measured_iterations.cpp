#include "program/measured_iterations.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "program/abort_job.hpp"
#include "program/rank_values.hpp"

namespace dbench::program {
namespace {

constexpr int64_t kWarmUp = 3, kFewest = 20, kMost = 2000;  // iterations

std::string time_text(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return text;
}

// Measures `count` iterations. A rank may fail alone, for example at a damaged photograph, while
// others wait for its rows: the job then ends on all ranks.
train::StepMeasurement measure_or_abort(comm::World& world, const PreparedRun& run, int64_t count) {
    try {
        return run.session->measure_steps(count);
    } catch (const std::exception& error) {
        const bool memory = is_out_of_memory(error);
        abort_job(world, memory ? memory_message(error) : base::reason_of(error),
                  memory || is_user_error(error));
    }
}

}  // namespace

std::vector<std::string> settings_of(const std::string& algorithm, const std::string& graph,
                                     int64_t batch) {
    std::vector<std::string> settings{"/algorithm=" + algorithm,
                                      "/graph=" + graph,
                                      "/message=float32",
                                      "/delays=[]",
                                      R"(/length={"iterations": 1000000})",
                                      "/schedule=constant",
                                      "/placement=linear",
                                      R"(/profile={"norms": false, "variance": {"kind": "off"}})",
                                      R"(/checkpoint={"every": null})"};
    if (batch > 0) settings.push_back("/data/batch_size=" + std::to_string(batch));
    return settings;
}

void MeasuredIterations::prepare(comm::World& world, RunArguments arguments, data::KeptData& data) {
    arguments.output.clear();
    arguments.settings.insert(arguments.settings.end(), settings_.begin(), settings_.end());
    // Notices of keys that the settings replace concern nobody: the user has not set them.
    base::set_log_identity(world.rank(), true);
    const Spec spec = read_specs(world, arguments).front();
    base::set_log_identity(world.rank(), arguments.quiet);
    PreparedRun run = prepare_run(world, spec, train::DevicePurpose::training, &data);
    const MemoryNeed need{run.session->estimate().memory_bytes, run.device.get()};
    run_on_all_ranks(
        world, [&] { run.session->prepare(); }, need);
    run.session->choose_stacking();
    run_ = std::move(run);
    placement_ = run_->placement;
    row_bytes_ = run_->session->row_bytes();
    library_sums_ = run_->session->reduction() == "library";
}

void MeasuredIterations::warm_up(comm::World& world) {
    const base::Stopwatch watch;
    measure_or_abort(world, *run_, kWarmUp);
    const double each = mean_over_ranks(world, watch.seconds()) / kWarmUp;
    count_ = std::clamp(static_cast<int64_t>(seconds / std::max(1e-9, each)), kFewest, kMost);
    if (world.rank() == 0) {
        base::notice("measuring " + std::to_string(count_) + " iterations " + kind_ + " of about " +
                     time_text(each));
    }
}

// The first iteration of a block does not count, because it begins with cold caches and without a
// batch, and its last one, because in the order combine_while_adapt it sends nothing for a next
// one.
void MeasuredIterations::measure_block(comm::World& world, int64_t blocks) {
    world.barrier();
    const train::StepMeasurement found =
        measure_or_abort(world, *run_, (count_ + blocks - 1) / blocks + 2);
    times_.insert(times_.end(), found.times.begin() + 1, found.times.end() - 1);
    if (buckets_.empty()) {
        buckets_ = found.buckets;
        for (auto& bucket : buckets_) bucket.share = 0;
    }
    for (size_t k = 0; k < buckets_.size(); ++k) {
        buckets_[k].share += found.buckets[k].share / static_cast<double>(blocks);
    }
}

void measure_in_turn(comm::World& world, const std::vector<MeasuredIterations*>& kinds) {
    constexpr int64_t kFewestBlocks = 5, kMostBlocks = 10, kShortest = 8;
    int64_t fewest = kMost;
    for (MeasuredIterations* each : kinds) {
        each->warm_up(world);
        fewest = std::min(fewest, each->count());
    }
    const int64_t blocks =
        kinds.size() == 1 ? 1 : std::clamp(fewest / kShortest, kFewestBlocks, kMostBlocks);
    for (int64_t block = 0; block < blocks; ++block) {
        for (MeasuredIterations* each : kinds) each->measure_block(world, blocks);
    }
}

}  // namespace dbench::program
