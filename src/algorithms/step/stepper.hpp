#pragma once
// Stepper runs the iterations of a training run. It owns the algorithm, the optimizer, the
// exchange, and the objects that measure and decide around them, and makes them from a resolved
// spec and a schedule. The training loop (train/run) calls it.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "algorithms/step/clipping.hpp"
#include "algorithms/step/control.hpp"
#include "algorithms/step/observer.hpp"
#include "algorithms/step/probe.hpp"
#include "algorithms/step/timeline.hpp"
#include "algorithms/step/timers.hpp"
#include "base/json.hpp"

namespace dbench::algorithms {

/// The graph of a run, and the schedule that the algorithm derives from it (for example local
/// steps, or an occasional global average). Both are null for algorithms that take no graph.
struct RunSchedule {
    std::shared_ptr<graphs::Schedule> graph;
    std::shared_ptr<graphs::Schedule> exchanges;  ///< The schedule of the exchanges.

    RunSchedule() = default;
    /// Derives `exchanges` from `graph` with the algorithm's rule, if it has one.
    RunSchedule(std::shared_ptr<graphs::Schedule> graph, const AlgorithmEntry& row,
                const base::Json& algorithm, const graphs::RunFacts& run);

    /// Returns the part of the schedule that changes the graph during the run, or null.
    graphs::StagedSchedule* staged() const;
};

/// The parameters from which a Stepper is made.
struct StepSpec {
    const AlgorithmEntry& row;    ///< The algorithm's table entry.
    const base::Json& algorithm;  ///< Resolved.
    const base::Json& optimizer;  ///< Resolved.
    graphs::RunFacts run = {};
    double lr_max = 0;  ///< Largest learning rate of the run.
    arena::DType type = arena::DType::float32;
    comm::Reduction reduction = comm::Reduction::reproducible;
    arena::ElementCodec message = arena::ElementCodec::identity;  ///< Encoding of rows in messages.
    ProfilePlan profile = {};
    Compression compression = {};  ///< For algorithms that compress their messages.
    const OptimizerEntry* optimizer_row = nullptr;  ///< Null: the table entry of `optimizer`.
    Minibatch minibatch = {};                       ///< For algorithms that linearise.
    uint64_t seed = 1;  ///< Seed for neighbours that the algorithm draws.
};

/// Computes the gradients of one iteration: reads x, writes g. Calls `ready` exactly once for each
/// range of columns, as soon as every launch that follows on the step's queue will find the
/// gradients of these columns complete. The computation is ordered after the launches on the queue;
/// on the host it first waits for them.
using Gradients = std::function<void(const std::function<void(arena::Columns)>& ready)>;

/// Iterations [begin, end) of an asynchronous algorithm in virtual time. All replicas wait for each
/// other at both ends.
struct Span {
    int64_t begin, end;
    const ComputeTimes& times;
    /// Returns the learning rate of iteration t.
    std::function<double(int64_t t)> lr;
    /// Computes the gradient of a turn at the replica's row of `snapshots`, as Gradients does, and
    /// writes it to the replica's row of g. Writes loss and accuracy [R] to the record of the
    /// turn's iteration.
    std::function<void(const Turn&, arena::Rows snapshots, IterationRecord&)> gradient;
};

/// Iterations [begin, end) of an asynchronous algorithm in real time. Each replica has its own
/// rank.
struct RankSpan {
    int64_t begin = 0, end = 0;
    /// Returns the learning rate of iteration t.
    std::function<double(int64_t t)> lr;
    /// Computes the gradient of this rank's replica, as in Span.
    std::function<void(const Turn&, arena::Rows snapshots, IterationRecord&)> gradient;
    std::function<bool()> stop_requested;  ///< True if this rank requests a stop.
    std::function<double()> clock;         ///< Seconds since the run's start.
};

/// The result of a RankSpan. All ranks have ended as many iterations as there are records: fewer
/// than planned if a rank requested a stop.
struct RankSpanEnd {
    std::vector<IterationRecord> records;
    bool stop;  ///< A rank requested a stop.
};

class RankPeers;

/// Runs iterations: `step` for synchronous algorithms, `advance` for asynchronous ones. One object
/// per rank; only the main thread calls it.
class Stepper {
public:
    /// Makes all parts; collective. Keeps references to world, placement and layout. Throws
    /// UserError if the graph's controller measures tensors that do not exist.
    Stepper(comm::World& world, const comm::Placement& placement, const arena::Layout& layout,
            const StepSpec& spec, RunSchedule schedule);

    const Algorithm& algorithm() const { return *parts_.algorithm; }
    const graphs::Schedule* schedule() const { return schedule_.exchanges.get(); }
    graphs::StagedSchedule* staged() const { return staged_; }
    comm::Exchange& exchange() const { return *exchange_; }
    Timers& timers() { return timers_; }
    /// Returns the round of iteration t.
    graphs::Round round(int64_t t) const;
    /// Returns what iteration t sends.
    Sent sent(int64_t t) const { return parts_.algorithm->sent(t, round(t)); }
    /// Returns the bytes of `sent`: true parameters without padding, plus its extra bytes.
    double bytes_of(const Sent& sent) const;
    /// Returns the elements per replica that optimizer and algorithm keep, in addition to
    /// parameters and gradients.
    int64_t state_elements() const { return state_elements_; }

    /// Declares the state of optimizer and algorithm in `table`, which holds the local replicas'
    /// parameters (a step may move these to other rows). `g` are the rows of the gradients. Called
    /// once, before the first step.
    void attach(arena::StateTable& table, arena::Rows g);
    /// Sets the function that computes gradients of the second loss, for algorithms that distil.
    void set_distillation(Distillation distillation) { distillation_ = std::move(distillation); }
    /// Sets the functions that linearise models, for algorithms that linearise.
    void set_linearisation(Linearisation linearisation) {
        linearisation_ = std::move(linearisation);
    }
    /// Resumes the run at iteration t: graphs that began before t are not reported again.
    void resume_at(int64_t t) { control_.resume_at(t); }
    /// Promises that nothing but the algorithm writes x before iteration `end`. Evaluations and
    /// checkpoints only read it. A step may then already send what the next one exchanges. All
    /// ranks must pass the same `end`.
    void set_uninterrupted_until(int64_t end) { end_ = end; }

    /// Runs iteration t at the learning rate lr: calls the algorithm around `gradients`, which
    /// writes the gradients at x to g. Fills in `record` except epoch, loss and accuracy, and
    /// reports to `observer` a graph that begins in t. Collective.
    void step(int64_t t, double lr, const Gradients& gradients, IterationRecord& record,
              Observer& observer);
    /// Runs a span of an asynchronous algorithm whose replicas are all on this rank. Returns one
    /// record per iteration. Profile measurements that are due in iteration `begin` are taken at
    /// the span's start.
    std::vector<IterationRecord> advance(const Span& span);
    /// Does the same if each replica has its own rank. Collective.
    RankSpanEnd advance(const RankSpan& span, RankPeers& peers);

private:
    struct Parts {
        std::unique_ptr<Optimizer> optimizer;
        std::unique_ptr<Algorithm> algorithm;
        void declare(arena::StateTable& table);
    };
    Parts make(const StepSpec& spec) const;
    std::optional<graphs::Round> next_round(int64_t t) const;
    void run_algorithm(const Gradients& gradients, Step& step);
    void trace_bucket_ready(arena::Columns columns) const;
    std::vector<IterationRecord> begin_records(int64_t begin, int64_t end,
                                               const std::function<double(int64_t)>& lr) const;
    void apply(const Turn& turn, double lr, bool measured);
    void fill_record(const Sent& sent, int64_t times, IterationRecord& record) const;

    const comm::Placement& placement_;
    const arena::Layout& layout_;
    arena::DType type_;
    arena::ElementCodec message_;
    RunSchedule schedule_;
    graphs::StagedSchedule* staged_;
    // Promised end of uninterrupted iterations (see the setter); 0 without a promise.
    int64_t end_ = 0;
    Parts parts_;
    int64_t state_elements_ = 0;
    std::optional<Clipping> clipping_;
    std::unique_ptr<comm::Exchange> exchange_;
    Timers timers_;
    Probe probe_;
    Control control_;
    arena::Queue& queue_;
    const arena::ReadOnlyArray<double> no_decay_;
    arena::StateTable* table_ = nullptr;
    arena::Rows g_;
    Distillation distillation_;
    Linearisation linearisation_;
};

}  // namespace dbench::algorithms
