#pragma once  // Private to train/run.
// The work that every training loop does between gradient steps: evaluations, checkpoints,
// simulated delays, the check of losses, reports to the observer, and the early end by a signal.

#include <set>
#include <string>
#include <vector>

#include "train/run/records.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

/// One training loop owns one Housekeeping; only the loop's thread calls it.
class Housekeeping {
public:
    Housekeeping(const TrainerParts& parts, const TrainerPlan& plan);

    /// Polls for failed peers before iteration t. Throws if a rank has failed.
    void check(int64_t t);
    /// Sleeps for this rank's simulated delay (the spec's /delays), inside iteration t and just
    /// before its first forward pass. Returns the seconds.
    double apply_delay(int64_t t);
    /// Adds the times of an iteration that Timers does not measure: its start, the wait for its
    /// batch before the step, its delay, and the parts of its phases. Unknown times become NaN.
    void complete_times(double start, double waited, double delay, algorithms::Times& times);
    /// Evaluates the state after `completed` iterations.
    void evaluate(int64_t completed);
    /// Evaluates and writes a checkpoint after `completed` iterations, if either is due.
    void completed(int64_t completed);
    /// Writes the last checkpoint of a run that a signal ends. Returns the signal's name.
    std::string end_early(int64_t completed);
    /// Warns once about each replica whose loss is not finite; the recorded values are not changed.
    /// Throws RunError if the plan says stop.
    void check_losses(int64_t t, const std::vector<double>& loss);
    /// Warns and records an event, once, if passes that should be captured are not.
    void report_uncaptured(int64_t t);
    /// Records whose losses a device may still be computing.
    Records& records() { return records_; }
    /// Passes a record to the observer. The observer's seconds are added to the profiling time of
    /// the next record.
    void report(algorithms::IterationRecord& record);
    /// Samples that all replicas have consumed after `completed` iterations, divided by N.
    double epoch(int64_t completed) const;

private:
    /// Warns and records an event, once for each set, if an evaluated loss is not finite. Throws
    /// RunError if the plan says stop.
    void check_scores(int64_t completed, const std::string& set, const algorithms::Scores& scores);
    void save(int64_t completed);

    const TrainerParts& parts_;
    const TrainerPlan& plan_;
    std::vector<bool> reported_;  ///< Replicas that were reported for a loss that is not finite.
    std::set<std::string> reported_sets_;  ///< Sets whose loss was reported.
    std::string last_failure_;          ///< Error of the last checkpoint that could not be written.
    bool uncaptured_reported_ = false;  ///< The warning of uncaptured passes was printed.
    double observer_seconds_ = 0;       ///< Seconds of the observer in the last report.
    double slept_ = 0;                  ///< Seconds of the last delay; a signal ends one early.
    double progress_seconds_ = 0;       ///< CPU time of the progress thread at the last iteration.
    Records records_;
};

}  // namespace dbench::train
