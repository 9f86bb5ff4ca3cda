#pragma once
// Averaging hidden behind local steps: what is sent at one exchange is used at the next.

#include <optional>
#include <vector>

#include "algorithms/forms.hpp"

namespace dbench::algorithms {

/// W times rows that stay as they are until that is used, `late` iterations later. They are state,
/// so that after a restart they are sent once more.
class LateMix {
public:
    LateMix(const graphs::Schedule* schedule, int64_t late) : schedule_(schedule), late_(late) {}

    void start(Step& step, arena::Rows rows) { start(step, rows, step.layout.all()); }
    void start(Step& step, arena::Rows rows, arena::Columns columns) {
        start(step, step.round, rows, columns);
    }
    /// out = W times the rows that were sent.
    void finish(Step& step, arena::Rows rows, arena::Rows out) {
        finish(step, rows, out, step.layout.all());
    }
    void finish(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) {
        if (pending_.empty()) start(step, schedule_->at(step.t - late_), rows, columns);
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
    int64_t late_;
    std::vector<comm::Token> pending_;
};

/// Local steps; `exchanged` after every H-th.
class LateSteps : public Mixed {
public:
    LateSteps(const graphs::Schedule* schedule, int64_t period)
        : Mixed(schedule), late_(schedule, period), period_(period) {}

    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if ((step.t + 1) % period_ == 0) exchanged(step, step.t + 1 == period_);
        step.probe.averaged(step.x);
    }

protected:
    /// At an exchange; at the first one nothing has been sent before.
    virtual void exchanged(Step& step, bool first) = 0;
    LateMix late_;

private:
    int64_t period_;
};

}  // namespace dbench::algorithms
