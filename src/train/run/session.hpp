#pragma once
// Composes one training run from a resolved spec. `program` (prepare_run.cpp) creates a Session;
// the family tables supply the model, data, partition, graph, algorithm and optimizer. LibTorch is
// hidden behind this header.
//
// Order of events in train/run:
//   1. The constructor reads the data and builds the model; run_plan turns durations into
//      iterations; algorithms/compatibility.hpp refuses combinations that cannot work.
//   2. connect() creates the algorithm and its exchanges. estimate() may be called from then on.
//   3. prepare() allocates the replicas; choose_stacking() and resume() may follow.
//   4. train() runs the loop: trainer.cpp for synchronous algorithms, asynchronous_trainer.cpp (one
//      process) or asynchronous_ranks.cpp (one rank per replica) for asynchronous ones.
// All loops use Housekeeping for the work between iterations, Records to pass records to the
// observer, and StopRequest to agree on an early end.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/step/observer.hpp"
#include "arena/layout.hpp"
#include "base/input_digest.hpp"
#include "base/json.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "data/heterogeneity.hpp"
#include "data/kept_data.hpp"
#include "graphs/schedule.hpp"
#include "graphs/schedules/staged.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/run/estimates.hpp"
#include "train/run/step_measurement.hpp"
#include "train/run/trainer.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

struct SessionOptions {
    RunSpec run;                             ///< The keys of the spec's top level.
    std::shared_ptr<const base::Json> spec;  ///< The whole resolved spec.
    /// The resolved /algorithm, or the one that /implementation stands for.
    std::shared_ptr<const base::Json> algorithm;
    /// Creates the spec's graph for this run; called once, by the constructor. Empty for algorithms
    /// that use no graph.
    std::function<std::shared_ptr<graphs::Schedule>(const graphs::RunFacts&)> graph;
    std::string texts = {};  ///< Folder for texts that evaluations produce (translations).
    /// The device on which replicas train. Must outlive the session; the world computes on its
    /// queues.
    Device& device = host_device();
    /// The contents of the file from which the model is made (model_file); null: it is read.
    std::shared_ptr<const std::string> model_file = nullptr;
    /// Loads the data, which the next session may use too; null: they are loaded for this session.
    data::KeptData* data = nullptr;
};

/// One training run. Call the stages in the order above. All calls come from the main thread.
class Session {
public:
    /// Reads the data and builds the model; creates no replica. The result does not depend on this
    /// process's rank. Throws UserError.
    Session(comm::World& world, const comm::Placement& placement, const SessionOptions& options);
    ~Session();

    /// Creates the algorithm, its stepper and the exchange plans for the ranks as they are numbered
    /// now. Must be called before any member below. Collective. Throws UserError.
    void connect();

    const arena::Layout& layout() const;
    double row_bytes() const;  ///< Bytes of one replica's parameters in a message.
    arena::DType type() const;
    const TrainerPlan& plan() const;
    /// Mean amount of training data that all replicas consume in one iteration. `samples` counts
    /// pairs of sentences even if the batch size counts tokens; `tokens` counts the labels of texts
    /// and is 0 for other data.
    struct Load {
        double samples, tokens;
    };
    Load load() const;
    const graphs::Schedule* schedule() const;  ///< Null for algorithms that use no graph.
    /// The schedule, if it changes from graph to graph; else null.
    const graphs::StagedSchedule* staged() const;
    bool asynchronous() const;  ///< True if replicas do not wait for each other.
    const std::vector<int64_t>& evaluated() const;  ///< Replicas whose local models are evaluated.
    bool has_validation() const;
    bool classifies() const;  ///< True if the data has labels; false for real targets.
    std::vector<algorithms::MetricName> metrics() const;  ///< Further metrics of evaluations.
    /// Returns the digest of the file from which the model was made, if there is one.
    const std::vector<base::InputDigest>& model_digests() const;
    /// Returns the digests of all data that were read.
    const std::vector<base::InputDigest>& data_digests() const;
    /// Returns the numbers of samples and the shape of a sample, by name; they follow from the
    /// data.
    std::vector<std::pair<std::string, std::string>> data_sizes() const;
    /// Returns the shape of a sample, such as "3x32x32"; "" if samples differ in size.
    std::string sample_shape() const;
    /// Measures how much the replicas' label distributions differ; nothing if the data has no
    /// labels.
    std::optional<data::Heterogeneity> heterogeneity() const;
    /// Estimates memory, bytes and delays of the run on `placement`, by default that of this
    /// session. Another placement has as many replicas. Collective: creates exchange plans. Throws
    /// UserError if the run cannot have so many ranks.
    Estimates estimate(const std::optional<comm::Placement>& placement = {});
    /// The messages of an algorithm.
    struct Sending {
        double bytes;     ///< Sent by all replicas, the mean per iteration.
        bool over_links;  ///< Replicas send over each link, even if they average as a group.
    };
    /// Returns the messages of a resolved algorithm in `iterations` iterations of a schedule that
    /// is derived from a graph of as many replicas. Messages that only the first iteration sends do
    /// not count. Throws UserError if the algorithm cannot use the schedule.
    Sending sending(const base::Json& algorithm, const graphs::Schedule& schedule,
                    int64_t iterations) const;
    /// Estimates the memory of activations on the rank with most replicas, from passes of a few
    /// samples on the host (activations.hpp). Empty if the size of a batch depends on its samples.
    std::optional<int64_t> activation_bytes(const comm::Placement& placement) const;
    /// Returns warnings about unusual specs: samples left out, costly evaluation, ...
    std::vector<std::string> warnings(const Estimates& estimates) const;

    /// Allocates the replicas, the executor and the evaluator. Throws UserError.
    void prepare();
    /// Chooses how the replicas of a rank pass the model: as the spec says, or, for "auto", the
    /// fastest way in a measurement of about a second. Call after `prepare`. Collective.
    void choose_stacking();
    /// Returns "off", "streams" or "batched", with the reason if the spec alone does not decide it.
    std::string stacking() const;
    /// Returns "off", or "on" and its bytes, for training images in device memory, with the reason
    /// if the spec alone does not decide it.
    std::string resident() const;
    /// Returns "on" if forward and backward passes are captured on the GPU and replayed, else
    /// "off", with the reason if the spec alone does not decide it.
    std::string capture() const;
    /// Returns how sums over replicas are computed: "reproducible" or "library".
    std::string reduction() const;
    /// Returns how rows reach the other ranks of this host: "in place", or "as messages" with the
    /// reason; "" if no other rank is on this host.
    std::string rows_on_host() const;
    /// Estimates the seconds that one iteration of this rank takes. Call after `prepare`.
    double seconds_per_iteration();
    /// Returns why the run cannot continue from a checkpoint with another number of replicas; "" if
    /// it can.
    std::string replica_change_obstacle(const CheckpointHead& head) const;
    /// Continues from a checkpoint. Call after `prepare`. Collective.
    void resume(Checkpoints& checkpoints, const CheckpointHead& head);
    /// Runs all remaining iterations. Returns "" if the run is complete, else the name of the
    /// signal that ended it early; a checkpoint is then written. Collective.
    ///
    /// `clock` counts the run's seconds on this rank. `common`: the clock of all ranks; none: this
    /// rank's.
    std::string train(algorithms::Observer& observer, Checkpoints& checkpoints,
                      const base::Stopwatch& clock,
                      const std::optional<base::RunClock>& common = std::nullopt);
    /// Runs `iterations` iterations and measures them, without evaluations, records and
    /// checkpoints. This changes the replicas: call it after `prepare` and instead of `train`. It
    /// may be called again. Collective.
    StepMeasurement measure_steps(int64_t iterations);
    /// Returns the algorithm's remark on the finished run; "" if it has none. Collective.
    std::string remark() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
