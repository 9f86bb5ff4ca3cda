#pragma once
// Records a run: every rank keeps its measurements in memory, about once a second they leave for
// rank 0 together, and rank 0 appends them to the result file when they have come
// (docs/output-format.md). No rank waits for that.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "arena/layout.hpp"
#include "base/clock.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "graphs/schedule.hpp"

namespace dbench::profile {

/// What is known after a flush, for people who watch. NaN where nothing was measured yet.
struct Progress {
    int64_t first = 0;       ///< iteration that this start began with
    int64_t completed = 0;   ///< iterations recorded, those before it included
    int64_t iterations = 0;  ///< of the whole run
    double epoch = 0;
    double elapsed = 0;                ///< seconds since the recorder was made
    bool done = false;                 ///< with the final evaluation
    double seconds_per_iteration = 0;  ///< of rank 0, profiling included, since the last flush
    double samples_per_second = 0;     ///< all replicas
    double tokens_per_second = 0;      ///< the same; 0 where the data are no text
    double seconds_left = std::numeric_limits<double>::quiet_NaN();  ///< Pace::left
    double loss = std::numeric_limits<double>::quiet_NaN();  ///< last minibatch, mean over replicas
    double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< the same
    double consensus_distance = std::numeric_limits<double>::quiet_NaN();
    double test_accuracy =
        std::numeric_limits<double>::quiet_NaN();  ///< mean model, last evaluation
};

/// The same on every rank unless said otherwise; only rank 0 uses the texts.
struct RecorderOptions {
    std::string path;
    bool overwrite = false;  ///< replaces an existing file, if that is a result file
    std::string name;
    std::string spec;         ///< resolved, JSON
    std::string provenance;   ///< JSON
    std::string certificate;  ///< JSON of the first graph; empty without one
    std::string stability;    ///< JSON: the algorithm's growth on the graphs; empty without one
    uint64_t certified = 0;   ///< the matrix that its rho is of

    std::vector<arena::Tensor> tensors;  ///< in the order of named_parameters()
    arena::DType precision = arena::DType::float32;
    std::string device = "cpu";  ///< of this rank
    int cpus = 1;                ///< that this rank may use

    int64_t evaluated = 0;  ///< m: the evaluated replicas are floor(j n / m)
    bool validation = false;
    std::vector<algorithms::MetricName> metrics;  ///< of evaluations
    bool norms = true;                            ///< rows of /parameters
    bool variance = true;                         ///< exact variance
    bool after = false;                           ///< variance after averaging too
    bool asynchronous = false;                    ///< replicas do not wait for each other
    int64_t every = 1, variance_every = 1;  ///< iterations between rows, on the mean: sizes chunks

    int64_t first = 0;      ///< not 0: the file's run goes on with this iteration
    base::Stopwatch clock;  ///< of the run, over restarts: the time of events

    const graphs::Schedule* schedule = nullptr;  ///< null: centralized. Outlives the recorder
    int64_t graphs = 256;  ///< matrices kept of a schedule that does not repeat

    int64_t iterations = 1;                         ///< of the whole run
    int64_t apart = 1;                              ///< iterations between flushes, at least
    int64_t evaluate_every = 0;                     ///< iterations; for Progress
    double samples_per_iteration = 0;               ///< all replicas, on the mean; for Progress
    double tokens_per_iteration = 0;                ///< the same
    double seconds_per_iteration = 0;               ///< estimate, sizes chunks; 0: not known
    std::function<void(const Progress&)> progress;  ///< on rank 0: after flushes, at the end
};

class Recorder : public algorithms::Observer {
public:
    /// Creates the result file (and missing folders), readable from now on, status `running`.
    /// Collective. Throws UserError on all ranks where the file cannot be created or one exists
    /// that may not be replaced; that one is left as it was.
    Recorder(comm::World& world, comm::Placement placement, RecorderOptions options);
    /// Without a `finish` or `fail`: as `fail`, never throws.
    ~Recorder() override;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Collective once in many calls, which wait only for a rank that has not come to the one
    /// before; the last iteration's waits for all. Throws RunError on all ranks where the file
    /// cannot be written (file and reason), and whatever a wait for peers throws.
    void iteration(const algorithms::IterationRecord& record) override;
    void evaluation(const algorithms::EvaluationRecord& record) override;
    /// Collective. Throws RunError on all ranks also where a checkpoint may not be made: the output
    /// is another file by now.
    void settle() override;
    void event(int64_t iteration, const std::string& kind, const std::string& text) override;

    /// Ends the file: all rows, `status` (complete, preempted or failed), `finished`, `error`.
    /// Collective; throws as `iteration`.
    void finish(const std::string& status, const std::string& error = "");
    /// After a failure, without the other ranks: rank 0 writes what it has and sets status
    /// `failed`. Never throws, reports on standard error what it could not write; other ranks: no
    /// effect.
    void fail(const std::string& error) noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::profile
