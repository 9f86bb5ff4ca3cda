#pragma once
// Records a run in a result file (docs/output-format.md).
//
// The path of a measurement: training calls Recorder (every rank) after each iteration -> packing
// turns the rank's part of the record into bytes -> about once a second a flush gathers the bytes
// on rank 0, without any rank waiting for it -> run_rows joins the ranks' parts into rows ->
// run_file appends them to tables and columns as described by schema -> column writes chunks with
// HDF5 (h5.hpp). file_guard reserves disk space before each write and shows other processes that
// the writer is alive. result_file, verify and folder_check implement `dbench doctor`; earlier_run
// reads the file of a run that is resumed.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "base/clock.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "graphs/schedule.hpp"
#include "profile/run_description.hpp"
#include "profile/trace_file.hpp"

namespace dbench::profile {

/// The state of the run after a flush, for display. NaN: nothing was measured yet.
struct Progress {
    int64_t first = 0;       ///< First iteration of this start of the run.
    int64_t completed = 0;   ///< Iterations recorded, including those before `first`.
    int64_t iterations = 0;  ///< Iterations of the whole run.
    double epoch = 0;
    double elapsed = 0;                ///< Seconds since the recorder was constructed.
    bool done = false;                 ///< The final evaluation is recorded.
    double seconds_per_iteration = 0;  ///< On rank 0 since the last flush, with profiling.
    double samples_per_second = 0;     ///< Sum over all replicas.
    double tokens_per_second = 0;      ///< Sum over all replicas; 0 if the data are no text.
    double seconds_left = std::numeric_limits<double>::quiet_NaN();  ///< See Pace::remaining.
    /// Mean over replicas of their last minibatch.
    double loss = std::numeric_limits<double>::quiet_NaN();
    /// Mean over replicas of their last minibatch.
    double accuracy = std::numeric_limits<double>::quiet_NaN();
    double consensus_distance = std::numeric_limits<double>::quiet_NaN();
    double test_accuracy =
        std::numeric_limits<double>::quiet_NaN();  ///< The mean model's, in the last evaluation.
};

/// Equal on every rank unless noted otherwise.
struct RecorderOptions : RunDescription {
    uint64_t certified = 0;  ///< The matrix to which the certificate's rho belongs.

    std::string device = "cpu";  ///< This rank's device.
    int cpus = 1;                ///< CPU cores that this rank may use.

    int64_t first = 0;  ///< First iteration; if not 0, the run in the existing file is continued.
    /// The existing file holds earlier starts of this run. Their segments are kept even if `first`
    /// is 0. Required if `first` is not 0.
    bool continued = false;
    base::Stopwatch clock;  ///< Run time, summed over restarts: the time of events.

    base::RunClock common_clock;             ///< This rank's, for the trace.
    std::optional<TracedIterations> traced;  ///< Iterations of which a trace is written.

    const graphs::Schedule* schedule = nullptr;  ///< Null: centralized. Must outlive the recorder.
    /// Maximum number of matrices kept of a schedule that does not repeat.
    int64_t max_random_matrices = 256;

    int64_t min_sync_interval = 1;     ///< Minimum number of iterations between flushes.
    int64_t evaluate_every = 0;        ///< In iterations; for Progress.
    double samples_per_iteration = 0;  ///< Mean, over all replicas; for Progress.
    double tokens_per_iteration = 0;   ///< Mean, over all replicas; for Progress.
    /// Called on rank 0 after flushes and at the end.
    std::function<void(const Progress&)> progress;
    /// Called on rank 0 between iterations, before and after work that may take long.
    std::function<void(const Progress&)> alive;
};

/// Every rank has one. All calls come from the rank's main thread.
class Recorder : public algorithms::Observer {
public:
    /// Creates the result file (and missing folders) with status `running`; others can read it from
    /// now on. Throws UserError on all ranks if the file cannot be created, or if one exists that
    /// may not be replaced; that file is not modified. Collective.
    Recorder(comm::World& world, comm::Placement placement, RecorderOptions options);
    /// If neither `finish` nor `fail` was called, does what `fail` does. Never throws.
    ~Recorder() override;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void iteration_begins(int64_t t) override;
    void iteration_ended(int64_t t) override;
    /// Adds an iteration. Some calls are collective: those flush, and wait only for a rank that has
    /// not yet reached the flush before; the call for the last iteration waits for all ranks.
    /// Throws RunError on all ranks if the file cannot be written (with file and reason), and the
    /// errors of waiting for peers.
    void iteration(const algorithms::IterationRecord& record) override;
    void evaluation(const algorithms::EvaluationRecord& record) override;
    void note_progress() override;
    /// Writes all rows to the disk. Returns why no checkpoint may be written, on all ranks, if the
    /// output path now leads to another file. Throws RunError on all ranks if the file cannot be
    /// written. Collective.
    std::string flush_to_disk() override;
    void event(int64_t iteration, const std::string& kind, const std::string& text) override;

    /// Closes the file: writes all rows, `status` (complete, preempted or failed), `finished` and
    /// `error`. Collective. Throws like `iteration`.
    void finish(const std::string& status, const std::string& error = "");
    /// Closes the file after a failure, without the other ranks: rank 0 writes the rows that it has
    /// and sets status `failed`; it reports on standard error whatever it cannot write. Has no
    /// effect on other ranks. Never throws.
    void fail(const std::string& error) noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::profile
