// OSGP, overlap stochastic gradient push (Assran et al. 2019, arXiv 1811.10792; code:
// facebookresearch/stochastic_gradient_push): push-sum (push_sum.hpp) whose messages are used tau
// iterations late. With D the diagonal of A and O = A - D:
//
//     x+ = D x - lr d(g(z)) + [O x] of tau iterations ago
//     w+ = D w + [O w] of tau iterations ago;   z+ = x+ / w+
//
// The sums over replicas of x and w, including the messages in flight, are invariant. The authors'
// code has one message in flight and starts no other one meanwhile; one message in each iteration
// is our reading.
//
// * State: w, and the sums O x and O w in flight. Scratch for the message and A x.
// * Sends: one row and 8 bytes per neighbour and iteration, during forward and backward.
// * Requires: a column-stochastic matrix; in the first tau iterations its diagonal is positive.

#include "algorithms/entries.hpp"
#include "algorithms/push_sum.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

struct OsgpSpec {
    int64_t tau;

    static const base::Section<OsgpSpec>& section();
};

const base::Section<OsgpSpec>& OsgpSpec::section() {
    static const base::Section<OsgpSpec> keys{
        {base::Parameter::integer("tau", "1", "delay of messages in iterations").at_least(0),
         &OsgpSpec::tau},
    };
    return keys;
}

class Osgp final : public PushSum {
public:
    Osgp(const AlgorithmContext& context, int64_t tau)
        : PushSum(context.schedule), schedule_(*context.schedule), tau_(tau) {
        for (int64_t t = 0; t < tau_; ++t) require_own_shares(t);
    }

    void declare(arena::StateTable& state) override {
        PushSum::declare(state);
        for (int64_t k = 0; k < tau_; ++k) {
            rows_.push_back(state.rows("algorithm/in_flight_" + std::to_string(k)));
            weights_.push_back(state.numbers("algorithm/weight_in_flight_" + std::to_string(k)));
        }
        message_ = state.scratch();
        mixed_ = state.scratch();
    }
    void before_forward(Step& step) override {
        w_.begin(step);
        step.probe.about_to_average(step.x);
        w_.weigh(step, step.x, message_.rows(), step.layout.all());
        w_.send(step);
        exchange_.start(step, message_.rows());
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows message = message_.rows(), mixed = mixed_.rows();
        exchange_.finish(step, mixed);
        const auto shares = w_.receive(step);
        const auto arriving = static_cast<size_t>(tau_ > 0 ? step.t % tau_ : 0);
        std::vector<std::vector<arena::Term>> next, leaving;
        for (int64_t i = 0; i < message.count; ++i) {
            const double own = own_share(step.round, message.first + i);
            leaving.push_back({{mixed.at(i, 0), 1.0}, {message.at(i, 0), -own}});
            next.push_back({{message.at(i, 0), own}});
            if (tau_ > 0) next.back().push_back({rows_[arriving].at(i, 0), 1.0});
            double& late = tau_ > 0 ? *weights_[arriving].row<double>(i) : none_;
            w_.set(i, shares[static_cast<size_t>(i)].own +
                          (tau_ > 0 ? late : shares[static_cast<size_t>(i)].others));
            late = shares[static_cast<size_t>(i)].others;
        }
        step.combine(mixed, leaving, all);  // O x
        if (tau_ == 0) {
            for (int64_t i = 0; i < message.count; ++i) next[i].push_back({mixed.at(i, 0), 1.0});
        }
        step.combine(message, next, all);
        if (tau_ > 0) step.copy(mixed, rows_[arriving], all);
        if (step.probe.measures_after_averaging()) {
            w_.unweigh(step, message, mixed, all);
            step.probe.averaged(mixed);
        }
        step.update(message, message, step.x, all);
        w_.unweigh(step, message, step.x, all);
    }

private:
    // Until the first messages arrive, a replica has only what it keeps itself: with a share of 0
    // its weight would be 0, by which its parameters are divided.
    void require_own_shares(int64_t t) const {
        for (int replica = 0; replica < schedule_.size(); ++replica) {
            if (own_share(schedule_.at(t), replica) > 0) continue;
            throw base::UserError("/graph: replica " + std::to_string(replica) +
                                  " gives itself the weight 0 in iteration " + std::to_string(t) +
                                  ", before the first delayed messages arrive, so that osgp would "
                                  "divide by 0: give W a positive diagonal, or choose sgp");
        }
    }
    double own_share(graphs::Round round, int64_t replica) const {
        for (const graphs::Link& link : schedule_.in(round, static_cast<int>(replica))) {
            if (link.peer == replica) return link.weight;
        }
        return 0;
    }

    const graphs::Schedule& schedule_;
    int64_t tau_;
    std::vector<arena::Rows> rows_, weights_;  // [tau] Entry k: of iterations t with t mod tau = k.
    double none_ = 0;
    arena::Buffer message_, mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_osgp(const OsgpSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Osgp>(context, spec.tau);
}

}  // namespace

AlgorithmEntry osgp_entry() {
    return {"osgp",
            "stochastic gradient push with delayed messages",
            make_osgp,
            {.graph = GraphNeed::column_stochastic,
             .messages = Messages::exact_rows,
             .keeps_received_rows = true,
             .replica_change = ReplicaChange::multiples,  // Including messages in flight.
             .mean = MeanRule::none,
             .weight = "algorithm/weight"}};
}

}  // namespace dbench::algorithms
