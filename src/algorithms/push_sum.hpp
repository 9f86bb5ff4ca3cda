#pragma once
// Push-sum (Kempe, Dobra and Gehrke 2003; with gradients: Nedic and Olshevsky 2016): over directed
// graphs, whose A has columns that sum to 1, but not rows, replicas also send a weight w, w_0 = 1.
// The parameters are z = x / w, which gradients are taken at, and which are recorded and evaluated;
// x = w z is what is sent. Sums over replicas of x and of w are kept.

#include <vector>

#include "algorithms/forms.hpp"

namespace dbench::algorithms {

/// The weights of the local replicas, 8 bytes over each link of a round.
class PushSumWeights {
public:
    void declare(arena::StateTable& state);

    double operator[](int64_t i) const { return *weights_.row<double>(i); }
    void set(int64_t i, double weight) { *weights_.row<double>(i) = weight; }
    /// Before the first use of an iteration.
    void begin(const Step& step);

    void send(Step& step);
    /// What comes to each local replica: its own share D w, and the others' O w.
    struct Shares {
        double own, others;
    };
    std::vector<Shares> hear(Step& step);
    /// w <- A w.
    void take(const std::vector<Shares>& shares);

    /// out = w rows, or rows / w.
    void weigh(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) const;
    void unweigh(Step& step, arena::Rows rows, arena::Rows out, arena::Columns columns) const;

private:
    arena::Rows weights_;
    comm::Token token_;
};

/// Algorithms that send rows and weights with the round's matrix.
class PushSum : public Mixed {
public:
    explicit PushSum(const graphs::Schedule* schedule)
        : Mixed(schedule), links_(schedule, comm::link_cost) {}
    void declare(arena::StateTable& state) override { w_.declare(state); }
    Sent sent(int64_t, graphs::Round round) const override {
        return with_weights(rows_sent(round, 1), round);
    }

protected:
    /// `sent`, and the weights over each link.
    Sent with_weights(Sent sent, graphs::Round round) const {
        sent.bytes += 8.0 * static_cast<double>(links_.of(round).messages);
        return sent;
    }
    PushSumWeights w_;

private:
    MixingCost links_;
};

/// What push-sum needs of a graph, and takes.
inline constexpr Accepts kPushSum = {.graph = GraphNeed::column_stochastic, .codes_rows = false};

}  // namespace dbench::algorithms
