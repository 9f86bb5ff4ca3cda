#pragma once
// The shape that most algorithms have: one message per iteration, averaged once.

#include <deque>
#include <functional>
#include <utility>
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

/// Buckets of rows that stay: lent in one iteration, and reclaimed in the same order in the next
/// one that exchanges, when their columns are to be written again.
class Lent {
public:
    void add(const Bucket& bucket) { now_.push_back(bucket.token); }
    void reclaim_next(Step& step) {
        if (before_.empty()) return;
        step.reclaim(before_.front());
        before_.pop_front();
    }
    void reclaim_all(Step& step) {
        while (!before_.empty()) reclaim_next(step);
    }
    /// The iteration's buckets are complete.
    void turn() { before_ = std::exchange(now_, {}); }

private:
    std::deque<comm::Token> now_, before_;
};

/// The message is made from the gradient by columns, and its exchange begins while backward still
/// runs on the others. Nothing is exchanged where the round's matrix is the identity.
class AdaptThenCombine : public Mixed {
public:
    using Mixed::Mixed;

    void ready(Step& step, arena::Columns columns) override {
        const bool exchanges = averages(step.round);
        if (exchanges) lent_.reclaim_next(step);
        if (exchanges && in_one_pass(step, columns)) return;
        adapt(step, columns);
        if (!exchanges) return;
        const arena::Rows rows = message(step);
        const bool stays = rows.data != result(step).data;
        pending_.push_back(
            {step.start_mix(rows, columns,
                            stays ? comm::Stay::until_reclaimed : comm::Stay::until_finish),
             columns});
        if (stays) lent_.add(pending_.back());
        // What has come by now is added at once, unless the message is yet to be measured.
        if (!step.probe.measures_before() && step.moved(pending_.front().token)) finish_one(step);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(message(step));  // is written only by the finish, if at all
        while (!pending_.empty()) finish_one(step);
        if (averages(step.round)) lent_.turn();
        if (mixes_again() && averages(step.round)) step.mix_again(result(step));
        if (step.probe.wants_after()) step.probe.averaged(averaged(step));
        combined(step);
    }

protected:
    /// Writes the message in `columns`, where the gradient is complete.
    virtual void adapt(Step& step, arena::Columns columns) = 0;
    /// Does the whole of it in `columns`, where there is a pass for that.
    virtual bool in_one_pass(Step&, arena::Columns) { return false; }
    /// The rows that are sent.
    virtual arena::Rows message(Step& step) { return step.x; }
    /// Where W times the message goes: other rows are sent as rows that stay, which nothing but
    /// `adapt` may write.
    virtual arena::Rows result(Step& step) { return message(step); }
    /// Leaves W times the message in its place, in the bucket's columns.
    virtual void finish(Step& step, const Bucket& bucket) {
        step.finish_mix(bucket.token, result(step));
    }
    /// W times the whole message, after all exchanges.
    virtual arena::Rows averaged(Step& step) { return result(step); }
    /// After averaging.
    virtual void combined(Step&) {}

private:
    void finish_one(Step& step) {
        finish(step, pending_.front());
        pending_.pop_front();
    }

    std::deque<Bucket> pending_;
    Lent lent_;
};

/// x - lr d is sent from rows of its own, where there are any, and W times it goes back to x.
class AdaptAside : public AdaptThenCombine {
public:
    using AdaptThenCombine::AdaptThenCombine;

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.update(message(step), step.x, step.x, columns);
    }
    bool in_one_pass(Step& step, arena::Columns columns) override {
        return aside_.bytes() == 0 && step.update_and_mix(columns);
    }
    arena::Rows message(Step& step) override {
        return aside_.bytes() > 0 && averages(step.round) ? aside_.rows() : step.x;
    }
    arena::Rows result(Step& step) override { return step.x; }

    arena::Buffer aside_;
};

/// Averaging of whole rows into others, by tiles: while one is added the next ones move.
class TiledMix {
public:
    /// Does nothing where the rows have been sent ahead.
    void start(Step& step, arena::Rows rows, comm::Stay stay = comm::Stay::until_finish) {
        if (!pending_.empty()) return;
        for (const arena::Columns columns : step.layout.tiles(step.layout.all())) {
            pending_.push_back({step.start_mix(rows, columns, stay), columns});
        }
    }
    using Then = std::function<void(arena::Columns)>;
    /// out = W times the rows; `then` is called with the columns of each piece that is there. Rows
    /// that stay are lent until the next finish writes where they are.
    void finish(Step& step, arena::Rows out, const Then& then = nullptr) {
        finish_by(step, [&](const Bucket& bucket) { step.finish_mix(bucket.token, out, then); });
    }
    /// Of x: out = W x - lr d(g, x).
    void finish_and_update(Step& step, arena::Rows out) {
        finish_by(step, [&](const Bucket& bucket) {
            step.finish_mix_and_update(bucket.token, out, bucket.columns);
        });
    }
    /// The same, after which `out` are the rows of the next round: each tile leaves when it is
    /// complete, so that the network need not wait for the others.
    void finish_update_and_send(Step& step, arena::Rows out, comm::Stay stay) {
        std::vector<Bucket> next;
        finish_by(step, [&](const Bucket& bucket) {
            step.finish_mix_and_update(bucket.token, out, bucket.columns);
            next.push_back({step.start_next_mix(out, bucket.columns, stay), bucket.columns});
        });
        pending_ = std::move(next);
    }

private:
    void finish_by(Step& step, const std::function<void(const Bucket&)>& finish_one) {
        for (const Bucket& bucket : pending_) {
            lent_.reclaim_next(step);
            finish_one(bucket);
        }
        for (const Bucket& bucket : pending_) lent_.add(bucket);
        lent_.turn();
        pending_.clear();
    }

    std::vector<Bucket> pending_;
    Lent lent_;
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
