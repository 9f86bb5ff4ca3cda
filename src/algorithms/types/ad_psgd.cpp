// AD-PSGD (Lian et al. 2018, arXiv 1710.06952, algorithm 1): asynchronous decentralized SGD. As
// soon as replica i has computed the gradient at its snapshot s, it runs
//
//     draws a neighbour j;   x_i, x_j <- (x_i + x_j) / 2, atomically;   x_i <- x_i - lr d(g_i(s))
//
// Deadlocks: the paper divides the replicas into active ones, which request averagings, and passive
// ones, which answer, so that replicas never wait in a circle. That requires a bipartite graph. Our
// choice works for any graph: of two replicas the one with the lower number is active. A replica
// that draws a neighbour with a lower number requests no averaging. A replica that is requested
// answers at once, or waits for a replica with a higher number only, so there is no circle.
// Neighbours are drawn in proportion to their weights in W (paper: uniformly). If both replicas of
// a pair draw each other equally often, as on graphs whose replicas have equally many neighbours,
// n / 2 pairs average in n turns on average, as in the paper's code; on a matching every pair
// averages once per round. On other graphs the number depends on the numbering: on a star, 1 pair
// averages in n turns if the hub is replica 0, and n - 1 pairs if the hub has the highest number.
//
// * State: x and the snapshot of each replica.
// * Sends: one row in each direction per averaging, while the gradient is computed (between
//   ranks).
// * Requires: symmetric W.

#include "algorithms/asynchronous/asynchronous.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

class AdPsgd final : public Asynchronous {
public:
    AdPsgd(const Pace& pace, const AlgorithmContext& context)
        : Asynchronous(pace, context), seed_(context.seed) {}

    void average(const Turn& turn, Peers& peers) const override {
        if (const int64_t j = requested_partner(turn); j >= 0) peers.average(turn.replica, j);
    }
    int64_t staleness(const Turn& turn, const Peers& peers) const override {
        return peers.averagings(turn.replica);
    }
    int64_t requested_partner(const Turn& turn) const override {
        const int64_t j = neighbour(turn);
        return j > turn.replica ? j : -1;
    }
    bool sends_snapshots() const override { return false; }

    /// Returns the rows that the turns of iteration t send: both directions of every pair.
    Sent sent(int64_t t, graphs::Round) const override {
        int64_t pairs = 0;
        for (int64_t i = 0; i < replicas(); ++i) pairs += requested_partner({i, t}) >= 0;
        const auto rows = static_cast<double>(2 * pairs);
        return {pairs > 0, pairs > 0, rows / static_cast<double>(replicas()), 2 * pairs, rows};
    }

private:
    /// Draws a neighbour of the turn's replica; -1 if it has none.
    int64_t neighbour(const Turn& turn) const {
        const auto i = static_cast<int>(turn.replica);
        const auto links = schedule().in(schedule().at(turn.iteration), i);
        double total = 0;
        for (const graphs::Link& link : links) total += link.peer == i ? 0 : link.weight;
        base::Random random(
            seed_, base::Purpose::neighbour,
            {static_cast<uint64_t>(turn.replica), static_cast<uint64_t>(turn.iteration)});
        double left = random.uniform() * total;
        int64_t drawn = -1;
        for (const graphs::Link& link : links) {
            if (link.peer == i) continue;
            drawn = link.peer;
            left -= link.weight;
            if (left < 0) break;
        }
        return drawn;
    }

    uint64_t seed_;
};

std::unique_ptr<Algorithm> make_ad_psgd(const Pace& pace, const AlgorithmContext& context) {
    return std::make_unique<AdPsgd>(pace, context);
}

}  // namespace

AlgorithmEntry ad_psgd_entry() {
    return {"ad_psgd",
            "asynchronous: each replica averages with one neighbour after each gradient",
            make_ad_psgd,
            {.graph = GraphNeed::symmetric,
             .staged = false,
             .lambda_min = -2,
             .messages = Messages::exact_rows,
             .asynchronous = true,
             // The distance from the minimiser depends on the pairs that averaged last.
             .bias = Bias::none}};
}

}  // namespace dbench::algorithms
