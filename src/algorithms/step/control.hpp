#pragma once
// Measurements for schedules that decide from them (graphs::Staged), and what was decided.

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

class Control {
public:
    /// `staged` may be null: then nothing is measured.
    Control(graphs::Staged* staged, comm::World& world, const comm::Placement& placement,
            const arena::Layout& layout, comm::Exchange& exchange, Timers& timers);

    /// The run goes on at iteration t: graphs that began before it were reported.
    void go_on_at(int64_t t);
    /// Begins iteration t: reports a graph that begins here. Returns what the probe is to measure.
    Needs begin(int64_t t, Observer& observer);
    /// Ends it: tells the controller what it asked for. Collective where something was measured.
    void end(int64_t t, const Probe& probe);

    bool may_repeat(int64_t t) const { return staged_ && staged_->may_repeat(t); }
    /// After `rounds` averagings into `rows`: whether to average once more. Collective.
    bool mix_again(int64_t t, int rounds, double before, arena::Rows rows);

    /// Bytes that measuring took in this iteration, as one replica per rank would send them.
    double bytes() const { return bytes_; }

private:
    std::vector<double> of_tensors(const Probe& probe) const;
    std::vector<double> of_all_replicas(const std::vector<double>& local) const;
    std::vector<double> step_times() const;
    std::vector<double> from_first_rank(std::vector<double> values) const;

    graphs::Staged* staged_;
    comm::World& world_;
    const comm::Placement& placement_;
    const arena::Layout& layout_;
    comm::Exchange& exchange_;
    Timers& timers_;
    std::optional<graphs::Wish> wish_;
    std::vector<size_t> tensors_;  // that the wish names
    size_t reported_ = 0;          // stages
    double bytes_ = 0;
};

/// Tensors that a wish names, by index. Throws UserError where a name fits none.
std::vector<size_t> wished_tensors(const graphs::Wish& wish, const arena::Layout& layout);

}  // namespace dbench::algorithms
