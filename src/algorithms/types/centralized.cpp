// Centralized data-parallel SGD: all replicas apply the same update with the mean gradient.
//
//     x_i <- x_i - lr d((1/n) sum_j g_j)
//
// * State: none.
// * Sends: an all-reduce of each bucket of the gradient as soon as backward has completed it. It
//   costs 2 (n - 1) messages of 1/n row per replica: 2 (n - 1) / n rows.
// * Requires: no graph.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

class Centralized final : public Algorithm {
public:
    explicit Centralized(int64_t replicas) : cost_(comm::all_reduce_cost(replicas)) {}

    void before_forward(Step& step) override { in_place_tiles_.reclaim_all(step); }
    void ready(Step& step, arena::Columns columns) override {
        const TimedScope scope(step.timers, Time::exchange);
        pending_.push_back(
            {step.exchange.start_all_reduce(step.g, columns, comm::RowLifetime::until_reclaimed),
             columns});
        in_place_tiles_.add(pending_.back());
    }

    void after_backward(Step& step) override {
        for (const auto& [token, columns] : pending_) {
            {
                const TimedScope scope(step.timers, Time::exchange,
                                       comm::Exchange::traced_bucket(token));
                step.exchange.finish_all_reduce(token);
            }
            step.update(step.x, step.x, step.x, columns);
        }
        pending_.clear();
        in_place_tiles_.end_iteration();
        step.probe.about_to_average(step.x);
        step.probe.averaged(step.x);  // Parameters are not averaged: the same x.
    }

    Sent sent(int64_t, graphs::Round) const override {
        return {false, 0, cost_.degree, cost_.messages, cost_.rows};
    }

private:
    comm::RoundCost cost_;
    std::vector<PendingTile> pending_;
    InPlaceTiles in_place_tiles_;  // Gradients that other ranks may still read.
};

std::unique_ptr<Algorithm> make_centralized(const base::NoKeys&, const AlgorithmContext& context) {
    return std::make_unique<Centralized>(context.replicas);
}

}  // namespace

AlgorithmEntry centralized_entry() {
    return {"centralized",
            "gradient all-reduce with the same update on all replicas; no graph",
            make_centralized,
            {.graph = GraphNeed::none, .bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
