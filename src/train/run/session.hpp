#pragma once
// One experiment's training, built from a resolved spec through the family tables. Knows torch
// inside only.

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
#include "base/json.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "data/heterogeneity.hpp"
#include "graphs/schedule.hpp"
#include "graphs/schedules/staged.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/run/estimates.hpp"
#include "train/run/trainer.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

struct SessionOptions {
    const RunSpec& run;           ///< the spec's own keys
    const base::Json& spec;       ///< the whole spec, resolved
    const base::Json& algorithm;  ///< resolved /algorithm, also where an implementation names it
    /// Makes the spec's graph for this run; called once. Empty for algorithms that take none.
    std::function<std::shared_ptr<graphs::Schedule>(const graphs::RunFacts&)> graph;
    std::string texts = {};  ///< folder for texts that models write in evaluations
    Device& device =
        host_device();  ///< that outlives the session; the world computes on its queues
};

class Session {
public:
    /// Reads the data and builds the model; no replica exists yet, and which rank this is does not
    /// matter yet. Throws UserError.
    Session(comm::World& world, const comm::Placement& placement, const SessionOptions& options);
    ~Session();

    /// Makes what exchanges between ranks, by the numbers that they have now; first of all that
    /// follows. Collective. Throws UserError.
    void connect();

    const arena::Layout& layout() const;
    double row_bytes() const;  ///< of one replica's parameters as a message
    arena::DType type() const;
    const TrainerPlan& plan() const;
    /// What all replicas take in an iteration, on the mean: samples, which are pairs of sentences
    /// even where a batch is of so many tokens, and labels of a text, 0 where the data are none.
    struct Load {
        double samples, tokens;
    };
    Load load() const;
    const graphs::Schedule* schedule() const;  ///< null for algorithms that take no graph
    const graphs::Staged* staged() const;      ///< what in it goes from graph to graph, or null
    bool asynchronous() const;                 ///< replicas do not wait for each other
    const std::vector<int64_t>& evaluated() const;  ///< replicas whose local models are evaluated
    bool has_validation() const;
    std::vector<algorithms::MetricName> metrics() const;  ///< of evaluations
    const std::vector<std::pair<std::string, std::string>>& data_checksums() const;
    /// How unlike the replicas' labels are; nothing where the data has none.
    std::optional<data::Heterogeneity> heterogeneity() const;
    /// Collective (exchange plans are made).
    Estimates estimate();
    /// What is unusual about the spec, for people: samples left out, costly evaluation, ...
    std::vector<std::string> warnings(const Estimates& estimates) const;

    /// Makes the replicas and everything around them. Throws UserError.
    void prepare();
    /// After `prepare`: how a rank's replicas pass the model, and why, as the spec says or measured
    /// for about a second where it says auto. Collective.
    void choose_stacking();
    /// "off", "streams" or "batched", with the reason where it is not just what the spec says.
    std::string stacking() const;
    /// "off", or "on" with its bytes: whether training images lie on the device; with the reason
    /// where it is not just what the spec says.
    std::string resident() const;
    /// "on" or "off": whether forward and backward are captured on the card and repeated; with the
    /// reason where it is not just what the spec says.
    std::string capture() const;
    /// "reproducible" or "library": how sums over replicas are computed.
    std::string reduction() const;
    /// How rows reach the other ranks of this host: "in place", or "as messages" and why; "" where
    /// there are none.
    std::string rows_on_host() const;
    /// Seconds an iteration of this rank will take, estimated; after `prepare`.
    double seconds_per_iteration();
    /// Why a run cannot go on from a checkpoint of another number of replicas; "" where it can.
    std::string cannot_change_replicas(const CheckpointHead& head) const;
    /// After `prepare`: goes on from a checkpoint. Collective.
    void resume(Checkpoints& checkpoints, const CheckpointHead& head);
    /// Runs all iterations (left). Collective. Returns the name of the signal that ended the run
    /// early, after a checkpoint; empty where it is complete.
    std::string train(algorithms::Observer& observer, Checkpoints& checkpoints,
                      const base::Stopwatch& clock);
    /// What the algorithm has to say of the run at its end; "" where nothing. Collective.
    std::string remark() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
