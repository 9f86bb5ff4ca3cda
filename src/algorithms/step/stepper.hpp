#pragma once
// The one owner of a step: algorithm, optimizer, exchange, and what measures and decides around
// them, put together from a resolved spec and a schedule.

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

/// The graph of a run, and what the algorithm makes of it (local steps, a global average now and
/// then). Both null for algorithms that take no graph.
struct RunSchedule {
    std::shared_ptr<graphs::Schedule> graph;
    std::shared_ptr<graphs::Schedule> schedule;  ///< that the exchange follows

    RunSchedule() = default;
    RunSchedule(std::shared_ptr<graphs::Schedule> graph, const AlgorithmEntry& row,
                const base::Json& algorithm, const graphs::RunFacts& run);

    /// What in it goes from graph to graph, or null.
    graphs::Staged* staged() const;
};

struct StepSpec {
    const AlgorithmEntry& row;    ///< of the algorithm
    const base::Json& algorithm;  ///< resolved
    const base::Json& optimizer;  ///< resolved
    graphs::RunFacts run = {};
    double lr_max = 0;  ///< largest learning rate of the run
    arena::DType type = arena::DType::float32;
    comm::Reduction reduction = comm::Reduction::reproducible;
    arena::Codec message = arena::Codec::identity;  ///< how rows travel
    ProfilePlan profile = {};
    Compression compression = {};                   ///< for algorithms that compress their messages
    const OptimizerEntry* optimizer_row = nullptr;  ///< null: that of the table
    Minibatch minibatch = {};                       ///< for algorithms that linearise
    uint64_t seed = 1;                              ///< of neighbours that the algorithm draws
};

/// Calls its argument for each range of columns, once, when what is launched on the step's queue
/// from then on finds the gradients complete there. What computes them reads x and writes g: behind
/// what is on the queue, or on the host, when that has been waited for.
using Gradients = std::function<void(const std::function<void(arena::Columns)>& ready)>;

/// Iterations [begin, end) of an asynchronous algorithm in virtual time: all replicas wait for each
/// other at both ends.
struct Span {
    int64_t begin, end;
    const ComputeTimes& times;
    std::function<double(int64_t t)> lr;
    /// Writes the gradient of a turn at the snapshots' row into that of g, as Gradients do, and its
    /// loss and accuracy into the record of its iteration, [R] each.
    std::function<void(const Turn&, arena::Rows snapshots, IterationRecord&)> gradient;
};

/// Iterations [begin, end) of an asynchronous algorithm, each replica on a rank of its own and in
/// real time.
struct RankSpan {
    int64_t begin = 0, end = 0;
    std::function<double(int64_t t)> lr;
    /// As for Span, of this rank's replica.
    std::function<void(const Turn&, arena::Rows snapshots, IterationRecord&)> gradient;
    std::function<bool()> wish;     ///< whether this rank wishes to stop
    std::function<double()> clock;  ///< seconds since the run's start
};

/// What has become of one: all ranks have ended as many iterations as there are records, which may
/// be fewer than were meant where one has wished to stop.
struct RankSpanEnd {
    std::vector<IterationRecord> records;
    bool stop;
};

class RankPeers;

class Stepper {
public:
    /// Collective (the exchange is made); keeps references to world, placement and layout. Throws
    /// UserError where the controller asks for what is not there.
    Stepper(comm::World& world, const comm::Placement& placement, const arena::Layout& layout,
            const StepSpec& spec, RunSchedule schedule);

    const Algorithm& algorithm() const { return *parts_.algorithm; }
    const graphs::Schedule* schedule() const { return schedule_.schedule.get(); }
    graphs::Staged* staged() const { return staged_; }
    comm::Exchange& exchange() const { return *exchange_; }
    Timers& timers() { return timers_; }
    /// The round of iteration t.
    graphs::Round round(int64_t t) const;
    /// What iteration t sends.
    Sent sent(int64_t t) const { return parts_.algorithm->sent(t, round(t)); }
    /// Bytes of true parameters that this is.
    double bytes_of(const Sent& sent) const;
    /// Elements that a replica's optimizer and algorithm keep, beside parameters and gradients.
    int64_t state_elements() const { return state_elements_; }

    /// Declares the state of optimizer and algorithm in the table of the local replicas, which has
    /// their parameters (a step may move them to other rows); g are their gradients. Called once,
    /// before the first step.
    void attach(arena::StateTable& table, arena::Rows g);
    /// What algorithms that distil take the gradients of their second loss from.
    void distil_by(Distillation distillation) { distillation_ = std::move(distillation); }
    /// What algorithms that linearise take their models from.
    void linearise_by(Linearisation linearisation) { linearisation_ = std::move(linearisation); }
    /// The run goes on at iteration t: graphs that began before it were reported.
    void go_on_at(int64_t t) { control_.go_on_at(t); }
    /// Iterations up to `end` will follow each other in steps whose x nobody writes in between, so
    /// that one may send ahead what the next one exchanges. The same on all ranks.
    void will_go_on_to(int64_t end) { end_ = end; }

    /// Iteration t at the learning rate lr, around `gradients`, which writes the gradients at x
    /// into g. Tells `record` all but epoch, loss and accuracy, and `observer` of a graph that
    /// begins here. Collective.
    void step(int64_t t, double lr, const Gradients& gradients, IterationRecord& record,
              Observer& observer);
    /// The same for an asynchronous algorithm, whose replicas are all local: a record for each
    /// iteration of the span. What is due in iteration `begin` is measured as it stands there.
    std::vector<IterationRecord> advance(const Span& span);
    /// The same where each replica has a rank to itself. Collective.
    RankSpanEnd advance(const RankSpan& span, RankPeers& peers);

private:
    struct Parts {
        std::unique_ptr<Optimizer> optimizer;
        std::unique_ptr<Algorithm> algorithm;
        void declare(arena::StateTable& table);
    };
    Parts make(const StepSpec& spec) const;
    std::optional<graphs::Round> next_round(int64_t t) const;
    void around(const Gradients& gradients, Step& step);
    std::vector<IterationRecord> begin_records(int64_t begin, int64_t end,
                                               const std::function<double(int64_t)>& lr) const;
    void apply(const Turn& turn, double lr, bool measured);
    void tell(const Sent& sent, int64_t times, IterationRecord& record) const;

    const comm::Placement& placement_;
    const arena::Layout& layout_;
    arena::DType type_;
    arena::Codec message_;
    RunSchedule schedule_;
    graphs::Staged* staged_;
    int64_t end_ = 0;  // up to which one iteration follows another, or 0
    Parts parts_;
    int64_t state_elements_ = 0;
    std::optional<Clipping> clipping_;
    std::unique_ptr<comm::Exchange> exchange_;
    Timers timers_;
    Probe probe_;
    Control control_;
    arena::Queue* queue_;
    const arena::Placed<double> no_decay_;
    arena::StateTable* table_ = nullptr;
    arena::Rows g_;
    Distillation distillation_;
    Linearisation linearisation_;
};

}  // namespace dbench::algorithms
