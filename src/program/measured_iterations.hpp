#pragma once
// Times iterations of a spec with changed settings, for calibrations (machine_costs.hpp).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/step/timers.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "data/kept_data.hpp"
#include "program/prepare_run.hpp"

namespace dbench::program {

/// Returns changes that give a spec this algorithm and graph, and switch off everything except
/// iterations. `batch` replaces the batch size if it is positive.
std::vector<std::string> settings_of(const std::string& algorithm, const std::string& graph,
                                     int64_t batch);

/// Iterations of a spec with some settings, measured block by block. All functions that receive
/// `world` are collective.
class MeasuredIterations {
public:
    /// `kind` describes the iterations in notices: "with all-reduces". They are measured for about
    /// `seconds`.
    MeasuredIterations(std::string kind, std::vector<std::string> settings, double seconds)
        : seconds(seconds), kind_(std::move(kind)), settings_(std::move(settings)) {}

    double seconds;

    /// Prepares the run of the spec of `arguments`. Throws UserError on all ranks.
    void prepare(comm::World& world, RunArguments arguments, data::KeptData& data);
    /// Frees the memory of the run. The times stay.
    void release() { run_.reset(); }
    const PreparedRun* run() const { return run_ ? &*run_ : nullptr; }

    /// Decides how many iterations fit into the seconds, equally many on all ranks. Requires
    /// `prepare`.
    void warm_up(comm::World& world);
    int64_t count() const { return count_; }
    /// Measures one of `blocks` blocks. Ends the job if a rank fails. Requires `warm_up`.
    void measure_block(comm::World& world, int64_t blocks);

    /// The times of this rank's iterations.
    const std::vector<algorithms::Times>& times() const { return times_; }
    /// The means over all blocks.
    const std::vector<train::StepMeasurement::BucketReady>& buckets() const { return buckets_; }
    const comm::Placement& placement() const { return placement_; }
    double row_bytes() const { return row_bytes_; }
    /// True if the run has "reduction": "library".
    bool library_sums() const { return library_sums_; }

private:
    std::string kind_;
    std::vector<std::string> settings_;
    std::optional<PreparedRun> run_;
    comm::Placement placement_ = {1, 1};
    double row_bytes_ = 0;
    bool library_sums_ = false;
    int64_t count_ = 0;
    std::vector<algorithms::Times> times_;
    std::vector<train::StepMeasurement::BucketReady> buckets_;
};

/// Measures iterations of several kinds in turn, in blocks, because the speed of a machine changes
/// within minutes: what is compared must be measured at the same time. Collective.
void measure_in_turn(comm::World& world, const std::vector<MeasuredIterations*>& kinds);

}  // namespace dbench::program
