// Centralized data-parallel SGD: the mean of all gradients, the same update everywhere.
//
//     x_i <- x_i - lr d((1/n) sum_j g_j)
//
// Buckets of the gradient are all-reduced as soon as backward has completed them. One row sent as
// 2 (n - 1) messages of 1/n row per replica: 2 (n - 1) / n rows. Needs no graph.

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"

namespace dbench::algorithms {
namespace {

class Centralized final : public Algorithm {
public:
    explicit Centralized(int64_t replicas) : cost_(comm::all_reduce_cost(replicas)) {}

    void before_forward(Step& step) override { lent_.reclaim_all(step); }
    void ready(Step& step, arena::Columns columns) override {
        const TimedScope scope(step.timers, Time::exchange);
        pending_.push_back(
            {step.exchange.start_all_reduce(step.g, columns, comm::Stay::until_reclaimed),
             columns});
        lent_.add(pending_.back());
    }

    void after_backward(Step& step) override {
        for (const auto& [token, columns] : pending_) {
            {
                const TimedScope scope(step.timers, Time::exchange);
                step.exchange.finish_all_reduce(token);
            }
            step.update(step.x, step.x, step.x, columns);
        }
        pending_.clear();
        lent_.turn();
        step.probe.about_to_average(step.x);
        step.probe.averaged(step.x);  // no averaging of parameters: the same
    }

    Sent sent(int64_t, graphs::Round) const override {
        return {false, 0, cost_.degree, cost_.messages, cost_.rows};
    }

private:
    comm::RoundCost cost_;
    std::vector<Bucket> pending_;
    Lent lent_;  // gradients that others may still read
};

}  // namespace

AlgorithmEntry centralized_entry() {
    const auto make = [](const base::Json&, const AlgorithmContext& context) {
        return std::unique_ptr<Algorithm>(std::make_unique<Centralized>(context.replicas));
    };
    return {{"centralized", "gradient all-reduce, the same update everywhere (takes no graph)", {}},
            make,
            {.graph = GraphNeed::none},
            {.bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
