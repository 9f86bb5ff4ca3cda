#pragma once
// The shape that most algorithms have: one message per iteration, averaged once.

#include <deque>
#include <vector>

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
        return {cost.averages,        cost.averages ? 1 : 0, cost.degree,
                rows * cost.messages, rows * cost.rows,      rows * cost.gathered};
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
        if (!averages(step.round)) return;
        pending_.push_back({step.start_mix(message(step), columns), columns});
        // What has come by now is added at once, unless the message is yet to be measured.
        if (!step.probe.measures_before() && step.moved(pending_.front().token)) finish_one(step);
    }
    void after_backward(Step& step) override {
        const arena::Rows rows = message(step);
        step.probe.about_to_average(rows);  // has moved, but is written only by the finish
        while (!pending_.empty()) finish_one(step);
        if (mixes_again() && averages(step.round)) step.mix_again(rows);
        if (step.probe.wants_after()) step.probe.averaged(averaged(step));
        combined(step);
    }

protected:
    /// Writes the message in `columns`, where the gradient is complete.
    virtual void adapt(Step& step, arena::Columns columns) = 0;
    /// The rows that are sent and then averaged in place.
    virtual arena::Rows message(Step& step) { return step.x; }
    /// Leaves W times the message in its place, in the bucket's columns.
    virtual void finish(Step& step, const Bucket& bucket) {
        step.finish_mix(bucket.token, message(step));
    }
    /// W times the whole message, after all exchanges.
    virtual arena::Rows averaged(Step& step) { return message(step); }
    /// After averaging.
    virtual void combined(Step&) {}

private:
    void finish_one(Step& step) {
        finish(step, pending_.front());
        pending_.pop_front();
    }

    std::deque<Bucket> pending_;
};

/// Averaging of whole rows into others, by tiles: while one is added the next ones move.
class TiledMix {
public:
    void start(Step& step, arena::Rows rows) {
        for (const arena::Columns columns : step.layout.tiles(step.layout.all())) {
            pending_.push_back({step.start_mix(rows, columns), columns});
        }
    }
    /// out = W times the rows; `then` is called with the columns of each tile that is there.
    template <class Then>
    void finish(Step& step, arena::Rows out, Then&& then) {
        for (const Bucket& bucket : pending_) {
            step.finish_mix(bucket.token, out);
            then(bucket.columns);
        }
        pending_.clear();
    }
    void finish(Step& step, arena::Rows out) {
        finish(step, out, [](arena::Columns) {});
    }

private:
    std::vector<Bucket> pending_;
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
    void finish(Step& step, const Bucket& bucket) override {
        step.finish_change(bucket.token, change_.rows());
        step.combine(step.x, {{1, step.x}, {share_, change_.rows()}}, bucket.columns);
        step.combine(correction_, {{1, correction_}, {share_, change_.rows()}}, bucket.columns);
    }
    /// W m, of which x has only its share.
    arena::Rows averaged(Step& step) override {
        if (share_ == 1 || !averages(step.round)) return step.x;
        step.combine(change_.rows(), {{1, step.x}, {1 - share_, change_.rows()}},
                     step.layout.all());
        return change_.rows();
    }

private:
    double share_;
    arena::Rows correction_;
    arena::Buffer change_;
};

}  // namespace dbench::algorithms
