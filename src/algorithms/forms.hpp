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
        for (const auto& token : pending_) step.finish_mix(token, rows);
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
    /// After averaging, which left W times the message in its place.
    virtual void combined(Step&) {}

private:
    std::vector<comm::Token> pending_;
};

}  // namespace dbench::algorithms
