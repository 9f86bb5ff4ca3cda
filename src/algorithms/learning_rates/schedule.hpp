#pragma once
// Schedules: how the learning rate changes over a run after its warm-up. Each file of this folder
// defines one schedule and its row of the table. `LearningRate` adds what all schedules share.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/factory_entry.hpp"
#include "base/run_length.hpp"

namespace dbench::algorithms {

/// The learning rate as a function of the iteration alone, so that a resumed run continues with the
/// same rates. Immutable.
class RateSchedule {
public:
    virtual ~RateSchedule() = default;
    /// Returns the rate of iteration t, which is not part of the warm-up.
    virtual double after_warmup(int64_t t) const = 0;
    /// Returns the factor by which the schedule multiplies the rate of iteration t of the warm-up.
    virtual double warmup_factor(int64_t) const { return 1; }
    /// Returns the iterations in which the rate jumps, or turns from rising to falling or back,
    /// except for the end of the warm-up. Between them the rate only rises or only falls.
    virtual std::vector<int64_t> turning_points() const { return {}; }
    /// Returns what the schedule says about iterations after the end of the run, as a warning; ""
    /// if it says nothing.
    virtual std::string unreached() const { return ""; }
};

/// Inputs of a schedule, in addition to its keys.
struct RateContext {
    double rate;     ///< The scaled rate that the warm-up leads to.
    int64_t warmup;  ///< Number of iterations of the warm-up.
    base::RunLength run;
};

/// The rule by which the rate grows with the global batch.
struct RateScale {
    enum class Rule : uint8_t { none, linear, sqrt } rule;
    int64_t reference_batch;

    static const base::Section<RateScale>& section();
};

/// The keys that all schedules accept. They end the section of every schedule.
struct ScheduleSpec {
    base::Duration warmup;
    double warmup_from;
    RateScale scale;

    static const base::Section<ScheduleSpec>& section();
};

/// One schedule in the table.
using ScheduleEntry = base::FactoryEntry<std::unique_ptr<RateSchedule>(const RateContext&)>;
/// Returns all schedules, in the order of the documentation.
const std::vector<ScheduleEntry>& schedule_table();

/// Returns /schedule of a spec with all defaults. Throws UserError.
base::Json resolve_schedule(const base::Json& given, const std::string& pointer);

}  // namespace dbench::algorithms
