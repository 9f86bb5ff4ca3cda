#pragma once
// Connects a graph controller (graphs::StagedSchedule) with the step: measures what the controller
// requests, passes the values to it, and reports changes of the graph.

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "algorithms/step/probe.hpp"
#include "algorithms/step/timers.hpp"
#include "arena/layout.hpp"
#include "comm/exchange/exchange.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::algorithms {

/// Runs the controller of one run. Belongs to Stepper; only the main thread calls it.
class Control {
public:
    /// `staged` may be null: then nothing is measured. Keeps references to all other arguments.
    Control(graphs::StagedSchedule* staged, comm::World& world, const comm::Placement& placement,
            const arena::Layout& layout, comm::Exchange& exchange, Timers& timers);

    /// Resumes the run at iteration t: graphs that began before t are not reported again.
    void resume_at(int64_t t);
    /// Begins iteration t and reports a graph that begins in it. Returns what the probe must
    /// measure.
    Needs begin(int64_t t, Observer& observer);
    /// Ends iteration t: passes the requested measurements to the controller. Collective if
    /// anything was measured.
    void end(int64_t t, const Probe& probe);

    /// True if the controller may repeat the averaging of iteration t.
    bool may_repeat(int64_t t) const { return staged_ && staged_->may_repeat(t); }
    /// Returns true if iteration t must average once more, after so many `averagings` into `rows`.
    /// `before` is the consensus distance before the first one. Collective.
    bool mix_again(int64_t t, int averagings, double before, arena::Rows rows);

    /// Returns the bytes that measuring sent in this iteration, as if each replica had a rank of
    /// its own.
    double bytes() const { return bytes_; }

private:
    // One value per requested tensor.
    std::vector<double> measure_tensors(const Probe& probe) const;
    // The values of all ranks in the order of ranks. Collective.
    std::vector<double> gather_replicas(const std::vector<double>& local) const;
    // Seconds per replica: data, gradient and update. Collective.
    std::vector<double> step_times() const;
    // Rank 0's values on all ranks, so that all ranks decide alike. Collective.
    std::vector<double> broadcast_from_rank_0(std::vector<double> values) const;

    graphs::StagedSchedule* staged_;
    comm::World& world_;
    const comm::Placement& placement_;
    const arena::Layout& layout_;
    comm::Exchange& exchange_;
    Timers& timers_;
    // This iteration's request; empty if nothing is measured.
    std::optional<graphs::MeasureRequest> request_;
    std::vector<size_t> tensors_;  // Indices of the requested tensors.
    size_t reported_ = 0;          // Number of stages reported so far.
    double bytes_ = 0;
};

/// Returns the indices of the tensors that a request names. Throws UserError if a name matches no
/// tensor.
std::vector<size_t> requested_tensors(const graphs::MeasureRequest& request,
                                      const arena::Layout& layout);

}  // namespace dbench::algorithms
