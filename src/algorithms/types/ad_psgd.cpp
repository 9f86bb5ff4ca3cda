// AD-PSGD (Lian et al. 2018, arXiv 1710.06952, algorithm 1). When the gradient at its snapshot s is
// there, replica i
//
//     draws a neighbour j;   x_i, x_j <- (x_i + x_j) / 2, atomically;   x_i <- x_i - lr d(g_i(s))
//
// The paper divides the replicas into active ones, which ask, and passive ones, which answer, so
// that nobody waits in a circle; that takes a bipartite graph. Our choice, for any graph: of two
// replicas the one with the lower number is active. Who draws a neighbour of a lower number
// averages with nobody on its own account, and who is asked answers at once or waits for a higher
// number only: no circle. On the mean n / 2 pairs average in n turns, as in the paper's code, and
// where the graph is a matching each pair does once a round. Neighbours are drawn in proportion to
// their weights in W (the paper: all alike).

#include <nlohmann/json.hpp>

#include "algorithms/asynchronous/asynchronous.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

class AdPsgd final : public Asynchronous {
public:
    AdPsgd(const base::Json& spec, const AlgorithmContext& context)
        : Asynchronous(spec, context), seed_(context.seed) {}

    void average(const Turn& turn, Peers& peers) const override {
        if (const int64_t j = asks(turn); j >= 0) peers.average(turn.replica, j);
    }
    int64_t staleness(const Turn& turn, const Peers& peers) const override {
        return peers.averagings(turn.replica);
    }
    int64_t asks(const Turn& turn) const override {
        const int64_t j = neighbour(turn);
        return j > turn.replica ? j : -1;
    }
    bool sends_snapshots() const override { return false; }

    /// What the replicas' turns of iteration t send: both ways between every pair.
    Sent sent(int64_t t, graphs::Round) const override {
        int64_t pairs = 0;
        for (int64_t i = 0; i < replicas(); ++i) pairs += asks({i, t}) >= 0;
        const auto rows = static_cast<double>(2 * pairs);
        return {pairs > 0, pairs > 0, rows / static_cast<double>(replicas()), 2 * pairs, rows};
    }

private:
    /// -1 where there is none.
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

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<AdPsgd>(spec, context);
}

}  // namespace

AlgorithmEntry ad_psgd_entry() {
    return {{"ad_psgd",
             "asynchronous: each replica averages with one neighbour when its gradient is there",
             pace_parameters()},
            make,
            {.graph = GraphNeed::symmetric,
             .asynchronous = true,
             .staged = false,
             .lambda_min = -2,
             .codes_rows = false},
            // The distance from the minimiser depends on which pairs were the last.
            {.bias = Bias::none}};
}

}  // namespace dbench::algorithms
