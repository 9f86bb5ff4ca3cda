// SWIFT (Bornstein et al. 2022, arXiv 2210.14026, algorithm 1, with an averaging in every
// iteration). A replica never waits: it sends x_i to its neighbours, computes the gradient there,
// and takes of each neighbour what has come of it last,
//
//     x_i <- w_ii x_i + sum_j w_ij (last x_j that came) - lr d(g_i(x_i))
//
// The mean over replicas is not conserved by a single event. Where all are equally quick it is dsgd
// in the order combine_while_adapt.

#include <nlohmann/json.hpp>

#include "algorithms/asynchronous/asynchronous.hpp"

namespace dbench::algorithms {
namespace {

class Swift final : public Asynchronous {
public:
    Swift(const base::Json& spec, const AlgorithmContext& context)
        : Asynchronous(spec, context), cost_(context.schedule, comm::link_cost) {}

    void average(const Turn& turn, Peers& peers) const override {
        const graphs::Round round = schedule().at(turn.iteration);
        peers.mix(turn.replica, schedule().in(round, static_cast<int>(turn.replica)));
    }
    /// How many iterations the oldest of the averaged snapshots is behind the replica's own.
    int64_t staleness(const Turn& turn, const Peers& peers) const override {
        return turn.iteration - peers.oldest(turn.replica);
    }
    int64_t asks(const Turn&) const override { return -1; }
    bool sends_snapshots() const override { return true; }

    Sent sent(int64_t, graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.of(round);
        return {cost.averages, cost.averages, cost.degree, cost.messages, cost.rows};
    }

private:
    MixingCost cost_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<Swift>(spec, context);
}

}  // namespace

AlgorithmEntry swift_entry() {
    return {
        {"swift", "asynchronous: each replica averages with what has come of its neighbours last",
         pace_parameters()},
        make,
        {.sequences = false, .asynchronous = true, .staged = false, .codes_rows = false},
        {.mean = MeanRule::none, .bias = Bias::none}};
}

}  // namespace dbench::algorithms
