#pragma once
// Base classes of algorithms that average rows with the round's matrix, most of them once per
// iteration. A derived class adds its formulas.

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// Base of algorithms that send one row to every neighbour and average with the round's matrix.
class MixingAlgorithm : public Algorithm {
public:
    explicit MixingAlgorithm(const graphs::Schedule* schedule) : cost_(schedule) {}
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 1); }

protected:
    /// Returns the cost of sending `rows` rows to every neighbour.
    Sent rows_sent(graphs::Round round, int rows) const {
        const comm::RoundCost& cost = cost_.at(round);
        return {cost.averages,        cost.averages ? 1 : 0, cost.degree,
                rows * cost.messages, rows * cost.rows,      rows * cost.gathered};
    }
    /// True if the round's matrix is not the identity.
    bool averages(graphs::Round round) const { return cost_.at(round).averages; }

private:
    MixingCost cost_;
};

/// Tracks tiles that other ranks may still read in place (RowLifetime::until_reclaimed). Tiles
/// sent in one iteration are reclaimed in the same order in the next iteration that exchanges, just
/// before their columns are written again.
class InPlaceTiles {
public:
    /// Adds a tile of this iteration.
    void add(const PendingTile& tile) { current_.push_back(tile.token); }
    /// Reclaims the oldest tile of the previous exchange, if any is left.
    void reclaim_next(Step& step) {
        if (previous_.empty()) return;
        step.reclaim(previous_.front());
        previous_.pop_front();
    }
    /// Reclaims all tiles of the previous exchange.
    void reclaim_all(Step& step) {
        while (!previous_.empty()) reclaim_next(step);
    }
    /// Ends the iteration: its tiles become those of the previous exchange.
    void end_iteration() { previous_ = std::exchange(current_, {}); }

private:
    std::deque<comm::Token> current_, previous_;
};

/// Base of algorithms in the order adapt_then_combine: m = message made from x and g, x <- W m. The
/// message is computed tile by tile; the exchange of a tile moves while backward computes the other
/// buckets. Nothing is exchanged if the round's matrix is the identity.
class AdaptThenCombine : public MixingAlgorithm {
public:
    using MixingAlgorithm::MixingAlgorithm;

    /// Computes the message in `columns` and starts its exchange. Finishes the oldest pending
    /// exchange if its messages have arrived.
    void ready(Step& step, arena::Columns columns) override {
        const bool exchanges = averages(step.round);
        if (exchanges) in_place_tiles_.reclaim_next(step);
        if (exchanges && try_one_pass(step, columns)) return;
        adapt(step, columns);
        if (!exchanges) return;
        const arena::Rows rows = message(step);
        const bool stays = rows.data != result(step).data;
        pending_.push_back({step.start_mix(rows, columns,
                                           stays ? comm::RowLifetime::until_reclaimed
                                                 : comm::RowLifetime::until_finish),
                            columns});
        if (stays) in_place_tiles_.add(pending_.back());
        // Finishing early keeps the averaged columns in cache; a message that is still to be
        // measured must not be overwritten.
        if (!step.probe.measures_before_averaging() && step.can_finish(pending_.front().token))
            finish_one(step);
    }
    /// Finishes the exchanges of all tiles.
    void after_backward(Step& step) override {
        // The message is still unchanged: only finish() may overwrite it.
        step.probe.about_to_average(message(step));
        while (!pending_.empty()) finish_one(step);
        if (averages(step.round)) in_place_tiles_.end_iteration();
        if (repeats_averaging() && averages(step.round)) step.mix_again(result(step));
        if (step.probe.measures_after_averaging()) step.probe.averaged(averaged(step));
        combined(step);
    }

protected:
    /// Computes the message in `columns`, whose gradients are complete.
    virtual void adapt(Step& step, arena::Columns columns) = 0;
    /// Computes and averages the message in `columns` in one pass; returns false if there is no
    /// such pass.
    virtual bool try_one_pass(Step&, arena::Columns) { return false; }
    /// Returns the rows that are sent.
    virtual arena::Rows message(Step& step) { return step.x; }
    /// Returns the rows to which W times the message is written. If they are not the message's
    /// rows, the message is sent with RowLifetime::until_reclaimed: only `adapt` may write it.
    virtual arena::Rows result(Step& step) { return message(step); }
    /// Finishes the tile's exchange: writes W times the message to `result`.
    virtual void finish(Step& step, const PendingTile& tile) {
        step.finish_mix(tile.token, result(step));
    }
    /// Returns W times the whole message, after all exchanges.
    virtual arena::Rows averaged(Step& step) { return result(step); }
    /// Called after the averaging.
    virtual void combined(Step&) {}
    /// True if the averaging may be repeated, see Step::mix_again.
    virtual bool repeats_averaging() const { return false; }

private:
    void finish_one(Step& step) {
        finish(step, pending_.front());
        pending_.pop_front();
    }

    std::deque<PendingTile> pending_;
    InPlaceTiles in_place_tiles_;
};

/// Base of algorithms that send x - lr d and write W times it to x. If a derived class allocates
/// message_buffer_, the message has separate rows, which other ranks can read in place. Otherwise x
/// itself is updated and sent.
class BufferedAdaptThenCombine : public AdaptThenCombine {
public:
    using AdaptThenCombine::AdaptThenCombine;

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.update(message(step), step.x, step.x, columns);
    }
    bool try_one_pass(Step& step, arena::Columns columns) override {
        return message_buffer_.bytes() == 0 && step.update_and_mix(columns);
    }
    arena::Rows message(Step& step) override {
        return message_buffer_.bytes() > 0 && averages(step.round) ? message_buffer_.rows()
                                                                   : step.x;
    }
    arena::Rows result(Step& step) override { return step.x; }

    arena::Buffer message_buffer_;
};

/// Averages whole rows, tile by tile: while one tile is summed, the next ones move.
class TiledMix {
public:
    /// Starts the exchange of all tiles. Does nothing if finish_update_and_send has already sent
    /// them.
    void start(Step& step, arena::Rows rows,
               comm::RowLifetime lifetime = comm::RowLifetime::until_finish) {
        if (!pending_.empty()) return;
        for (const arena::Columns columns : step.layout.tiles(step.layout.all())) {
            pending_.push_back({step.start_mix(rows, columns, lifetime), columns});
        }
    }
    using Then = std::function<void(arena::Columns)>;
    /// Computes out = W times the rows; calls `then` with the columns of each finished piece. Rows
    /// sent with RowLifetime::until_reclaimed are reclaimed by the next finish, which overwrites
    /// them.
    void finish(Step& step, arena::Rows out, const Then& then = nullptr) {
        finish_by(step, [&](const PendingTile& tile) { step.finish_mix(tile.token, out, then); });
    }
    /// Computes out = (W - I) times the rows.
    void finish_change(Step& step, arena::Rows out) {
        finish_by(step, [&](const PendingTile& tile) { step.finish_change(tile.token, out); });
    }
    /// Computes out = W x - lr d(g, x), if the rows that were sent are x.
    void finish_and_update(Step& step, arena::Rows out) {
        finish_by(step, [&](const PendingTile& tile) {
            step.finish_mix_and_update(tile.token, out, tile.columns);
        });
    }
    /// Does the same and sends `out` in the next round: each tile is sent as soon as it is
    /// complete, so that the network does not wait for the other tiles.
    void finish_update_and_send(Step& step, arena::Rows out, comm::RowLifetime lifetime) {
        std::vector<PendingTile> next;
        finish_by(step, [&](const PendingTile& tile) {
            step.finish_mix_and_update(tile.token, out, tile.columns);
            next.push_back({step.start_next_mix(out, tile.columns, lifetime), tile.columns});
        });
        pending_ = std::move(next);
    }

private:
    void finish_by(Step& step, const std::function<void(const PendingTile&)>& finish_one) {
        for (const PendingTile& tile : pending_) {
            in_place_tiles_.reclaim_next(step);
            finish_one(tile);
        }
        for (const PendingTile& tile : pending_) in_place_tiles_.add(tile);
        in_place_tiles_.end_iteration();
        pending_.clear();
    }

    std::vector<PendingTile> pending_;
    InPlaceTiles in_place_tiles_;
};

/// Base of algorithms with a correction that accumulates the changes made by averaging, with share
/// s:
///
///     m_t = x_t - lr d(g_t) + c_t;   x_{t+1} = m_t + s (W - I) m_t
///     c_{t+1} = c_t + s (W - I) m_t,   c_0 = 0
///
/// The changes (W - I) m of a doubly stochastic W sum to 0 over replicas, so c has mean 0. This
/// also holds in float32 without drift, because only the small changes are added to c.
class CorrectedAdaptThenCombine : public AdaptThenCombine {
public:
    CorrectedAdaptThenCombine(const graphs::Schedule* schedule, double share)
        : AdaptThenCombine(schedule), share_(share) {}

    void declare(arena::StateTable& state) override {
        correction_ = state.rows("algorithm/correction");
        change_ = state.scratch();
    }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        step.apply_direction(change_.rows(), step.x, step.g, columns);
        step.combine(step.x, {{1, change_.rows()}, {1, correction_}}, columns);
    }
    void finish(Step& step, const PendingTile& tile) override {
        step.finish_change(tile.token, change_.rows());
        step.combine(step.x, {{1, step.x}, {share_, change_.rows()}}, tile.columns);
        step.combine(correction_, {{1, correction_}, {share_, change_.rows()}}, tile.columns);
    }
    /// Returns W m; x contains only the share s of the change.
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
