#pragma once
// Push-sum (Kempe, Dobra and Gehrke 2003; with gradients: Nedic and Olshevsky 2016) averages over
// directed graphs, whose matrix A has columns that sum to 1, but rows that do not. Each replica
// also sends a weight w, w_0 = 1. The parameters are z = x / w: gradients are computed at z, and z
// is recorded and evaluated. The rows that are sent are x = w z. The sums over replicas of x and of
// w are invariant.

#include <vector>

#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {

/// The weights w of the local replicas. Sends 8 bytes over each link of a round.
class PushSumWeights {
public:
    void declare(arena::StateTable& state);

    double operator[](int64_t i) const { return *weights_.row<double>(i); }
    void set(int64_t i, double weight) { *weights_.row<double>(i) = weight; }
    /// Begins an iteration; to be called before the first use. Sets w = 1 in iteration 0.
    void begin(const Step& step);

    /// Starts to send the weights to the neighbours of the round.
    void send(Step& step);
    /// The two parts of a local replica's next weight: its own share D w, and the others' O w.
    struct Shares {
        double own, others;
    };
    /// Waits for the neighbours' weights and returns the parts for each local replica.
    std::vector<Shares> receive(Step& step);
    /// Sets w <- A w.
    void apply(const std::vector<Shares>& shares);

    /// Computes out = w rows (weigh) or out = rows / w (unweigh).
    void weigh(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) const;
    void unweigh(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) const;

private:
    arena::Rows weights_;
    comm::Token token_;
};

/// Base of algorithms that send rows and weights with the round's matrix.
class PushSum : public MixingAlgorithm {
public:
    explicit PushSum(const graphs::Schedule* schedule)
        : MixingAlgorithm(schedule), links_(schedule, comm::link_cost) {}
    void declare(arena::StateTable& state) override { w_.declare(state); }
    Sent sent(int64_t, graphs::Round round) const override {
        return with_weights(rows_sent(round, 1), round);
    }

protected:
    /// Returns `sent` plus the weights' bytes over each link.
    Sent with_weights(Sent sent, graphs::Round round) const {
        sent.bytes += 8.0 * static_cast<double>(links_.at(round).messages);
        return sent;
    }
    PushSumWeights w_;

private:
    MixingCost links_;
};

}  // namespace dbench::algorithms
