#pragma once
// Averaging hidden behind local steps: what is sent at one exchange is used at the next.

#include <optional>
#include <vector>

#include "algorithms/forms.hpp"

namespace dbench::algorithms {

/// W times rows that stay as they are until the next exchange. They are state, so that after a
/// restart they are sent once more.
class LateMix {
public:
    LateMix(const graphs::Schedule* schedule, int64_t period)
        : schedule_(schedule), period_(period) {}

    void start(Step& step, arena::Rows rows) { start(step, step.round, rows); }
    /// out = W times the rows sent at the exchange before.
    void finish(Step& step, arena::Rows rows, arena::Rows out) {
        if (pending_.empty()) start(step, schedule_->at(step.t - period_), rows);
        for (const comm::Token& token : pending_) step.finish_mix(token, out);
        pending_.clear();
    }

private:
    void start(Step& step, graphs::Round round, arena::Rows rows) {
        const TimedScope scope(step.timers, Time::exchange);
        for (const arena::Columns columns : step.layout.tiles(step.layout.all())) {
            pending_.push_back(step.exchange.start_mix(round, rows, columns));
        }
    }

    const graphs::Schedule* schedule_;
    int64_t period_;
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
