#pragma once
// Base class of algorithms with H local steps between exchanges and an outer optimizer at each
// exchange.

#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {

/// x takes H local steps from the anchor (each replica's parameters after the last exchange) with
/// any local optimizer, whose state continues. Then `outer` computes the next anchor, which becomes
/// x.
class OuterSteps : public MixingAlgorithm {
public:
    OuterSteps(const graphs::Schedule* schedule, int64_t period)
        : MixingAlgorithm(schedule), period_(period) {}

    void declare(arena::StateTable& state) override { anchor_ = state.rows("algorithm/anchor"); }
    void before_forward(Step& step) override {
        if (step.t == 0) step.copy(step.x, anchor_, step.layout.all());
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        if ((step.t + 1) % period_ != 0) {
            step.probe.about_to_average(step.x);
            step.probe.averaged(step.x);
            return;
        }
        outer(step);
        step.copy(anchor_, step.x, step.layout.all());
    }

protected:
    /// Computes the next anchor (in anchor_) from x after H local steps and the anchor before them.
    /// Reports the averaging to the probe. May overwrite x.
    virtual void outer(Step& step) = 0;
    /// True at the first exchange of the run.
    bool first(const Step& step) const { return step.t + 1 == period_; }

    arena::Rows anchor_;

private:
    int64_t period_;
};

}  // namespace dbench::algorithms
