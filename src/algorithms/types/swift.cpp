// SWIFT (Bornstein et al. 2022, arXiv 2210.14026, algorithm 1, with an averaging in every
// iteration): asynchronous; a replica never waits. It sends x_i to its neighbours, computes the
// gradient at x_i, and averages with the last row that arrived from each neighbour:
//
//     x_i <- w_ii x_i + sum_j w_ij (last received x_j) - lr d(g_i(x_i))
//
// A single event does not conserve the mean over replicas. If all replicas are equally fast, this
// is dsgd in the order combine_while_adapt.
//
// * State: x and the snapshot of each replica.
// * Sends: one row per neighbour and iteration, when the snapshot is taken.
// * Requires: a graph that does not change.

#include "algorithms/asynchronous/asynchronous.hpp"

namespace dbench::algorithms {
namespace {

class Swift final : public Asynchronous {
public:
    Swift(const Pace& pace, const AlgorithmContext& context)
        : Asynchronous(pace, context), cost_(context.schedule, comm::link_cost) {}

    void average(const Turn& turn, Peers& peers) const override {
        const graphs::Round round = schedule().at(turn.iteration);
        peers.mix(turn.replica, schedule().in(round, static_cast<int>(turn.replica)));
    }
    /// Returns the age of the oldest averaged snapshot: iterations by which it precedes the
    /// replica's own.
    int64_t staleness(const Turn& turn, const Peers& peers) const override {
        return turn.iteration - peers.oldest(turn.replica);
    }
    int64_t requested_partner(const Turn&) const override { return -1; }
    bool sends_snapshots() const override { return true; }

    Sent sent(int64_t, graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.at(round);
        return {cost.averages, cost.averages, cost.degree, cost.messages, cost.rows};
    }

private:
    MixingCost cost_;
};

std::unique_ptr<Algorithm> make_swift(const Pace& pace, const AlgorithmContext& context) {
    return std::make_unique<Swift>(pace, context);
}

}  // namespace

AlgorithmEntry swift_entry() {
    return {"swift",
            "asynchronous: each replica averages with the last rows of its neighbours",
            make_swift,
            {.sequences = false,
             .staged = false,
             .messages = Messages::exact_rows,
             .asynchronous = true,
             .mean = MeanRule::none,
             .bias = Bias::none}};
}

}  // namespace dbench::algorithms
