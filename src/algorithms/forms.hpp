#pragma once
// The shape that most algorithms have: one message per iteration, averaged once.

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// Algorithms that average with the round's matrix: one row to every neighbour.
class Mixed : public Algorithm {
public:
    explicit Mixed(const graphs::Schedule* schedule) : cost_(schedule) {}
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 1); }

protected:
    /// `rows` rows to every neighbour.
    Sent rows_sent(graphs::Round round, int rows) const {
        const comm::RoundCost& cost = cost_.of(round);
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, rows * cost.messages,
                rows * cost.rows};
    }
    /// Whether the round's matrix is not the identity.
    bool averages(graphs::Round round) const { return cost_.of(round).averages; }

private:
    MixingCost cost_;
};

/// The message is made from the gradient by columns, and its exchange begins while backward still
/// runs on the others. Nothing is exchanged where the round's matrix is the identity.
class AdaptThenCombine : public Mixed {
public:
    using Mixed::Mixed;

    void ready(Step& step, arena::Columns columns) override {
        adapt(step, columns);
        if (averages(step.round)) {
            pending_.push_back(step.start_mix(message(step), columns));
        }
    }
    void after_backward(Step& step) override {
        const arena::Rows rows = message(step);
        step.probe.about_to_average(rows);  // in flight, but written only by the finish
        finish(step, pending_);
        pending_.clear();
        if (mixes_again() && averages(step.round)) step.mix_again(rows);
        step.probe.averaged(rows);
        combined(step);
    }

protected:
    /// Writes the message in `columns`, where the gradient is complete.
    virtual void adapt(Step& step, arena::Columns columns) = 0;
    /// The rows that are sent and then averaged in place.
    virtual arena::Rows message(Step& step) { return step.x; }
    /// Leaves W times the message in its place. No exchanges: W is the identity.
    virtual void finish(Step& step, const std::vector<comm::Token>& exchanges) {
        for (const auto& token : exchanges) step.finish_mix(token, message(step));
    }
    /// After averaging.
    virtual void combined(Step&) {}

private:
    std::vector<comm::Token> pending_;
};

/// With a correction that sums up what averaging has changed, in its share s:
///
///     m_t = x_t - lr d(g_t) + c_t;   x_{t+1} = m_t + s (W - I) m_t
///     c_{t+1} = c_t + s (W - I) m_t,   c_0 = 0
///
/// The changes of a doubly stochastic W sum to 0 over replicas, so that c has mean 0; it stays so
/// in float32, since only changes, small ones, are added to it.
class Corrected : public AdaptThenCombine {
public:
    Corrected(const graphs::Schedule* schedule, double share)
        : AdaptThenCombine(schedule), share_(share) {}

    void declare(arena::StateTable& state) override {
        correction_ = state.rows("algorithm/correction");
        change_ = state.scratch();
    }
    bool keeps_means() const override { return true; }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        step.descend(change_.rows(), step.x, step.g, columns);
        step.combine(step.x, {{1, change_.rows()}, {1, correction_}}, columns);
    }
    void finish(Step& step, const std::vector<comm::Token>& exchanges) override {
        for (const auto& token : exchanges) step.finish_change(token, change_.rows());
        changed_ = !exchanges.empty();
        if (!changed_) return;
        step.combine(step.x, {{1, step.x}, {1, change_.rows()}}, step.layout.all());
        step.combine(correction_, {{1, correction_}, {share_, change_.rows()}}, step.layout.all());
    }
    /// What was measured as averaged is W m; the rest of the share goes back.
    void combined(Step& step) override {
        if (!changed_ || share_ == 1) return;
        step.combine(step.x, {{1, step.x}, {share_ - 1, change_.rows()}}, step.layout.all());
    }

private:
    double share_;
    bool changed_ = false;
    arena::Rows correction_;
    arena::Buffer change_;
};

}  // namespace dbench::algorithms
