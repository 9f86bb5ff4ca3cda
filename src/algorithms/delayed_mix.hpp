#pragma once
// Averaging that is hidden behind local steps: rows sent at one exchange are used at the next one.

#include <optional>
#include <vector>

#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {

/// Computes W times rows that are sent in one iteration and used `delay` iterations later. The rows
/// must not be modified in between. They are part of the algorithm's state: after a restart they
/// are sent again.
class DelayedMix {
public:
    DelayedMix(const graphs::Schedule* schedule, int64_t delay)
        : schedule_(schedule), delay_(delay) {}

    /// Starts the exchange of the rows, in all columns or in `columns`.
    void start(Step& step, arena::Rows rows) { start(step, rows, step.layout.all()); }
    void start(Step& step, arena::Rows rows, arena::Columns columns) {
        start(step, step.round, rows, columns);
    }
    /// Finishes: out = W times the rows that were sent.
    void finish(Step& step, arena::Rows rows, arena::Rows out) {
        finish(step, rows, out, step.layout.all());
    }
    void finish(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) {
        if (pending_.empty()) start(step, schedule_->at(step.t - delay_), rows, columns);
        for (const comm::Token& token : pending_) step.finish_mix(token, out);
        pending_.clear();
    }

private:
    void start(Step& step, graphs::Round round, arena::Rows rows, arena::Columns columns) {
        const TimedScope scope(step.timers, Time::exchange);
        for (const arena::Columns tile : step.layout.tiles(columns)) {
            pending_.push_back(step.exchange.start_mix(round, rows, tile));
        }
    }

    const graphs::Schedule* schedule_;
    int64_t delay_;
    std::vector<comm::Token> pending_;
};

/// Base of algorithms that take local steps and exchange after every H-th.
class DelayedMixAlgorithm : public MixingAlgorithm {
public:
    DelayedMixAlgorithm(const graphs::Schedule* schedule, int64_t period)
        : MixingAlgorithm(schedule), delayed_mix_(schedule, period), period_(period) {}

    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if ((step.t + 1) % period_ == 0) at_exchange(step, step.t + 1 == period_);
        step.probe.averaged(step.x);
    }

protected:
    /// Called at an exchange. `first`: nothing was sent before.
    virtual void at_exchange(Step& step, bool first) = 0;
    DelayedMix delayed_mix_;

private:
    int64_t period_;
};

}  // namespace dbench::algorithms
