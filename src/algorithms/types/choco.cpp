// CHOCO-SGD (Koloskova et al. 2019, arXiv 1902.00340 and 1907.09356; code: epfml/ChocoSGD,
// epfml/powergossip): every replica keeps a public copy x^ of its parameters, which all neighbours
// know. It sends the compressed difference between x and x^. The parameters move towards the
// neighbours' public copies with step size gamma:
//
//     paper      h = x - lr d(g(x));  q = Q(h - x^);  x^ <- x^ + q,  s <- s + sum_j w_ij q_j
//                x <- h + gamma (s - x^)
//     parallel   x <- x - lr d(g(x)) + gamma (s - x^);  then q = Q(x - x^),  x^ and s as above,
//                while the next gradient is computed
//
// s = sum_j w_ij x^_j. With local steps (period), h moves several times between exchanges; with
// Adam this is CD-Adam and LoDAdaC. The mean moves as without compression for every Q.
//
// AdaGossip (Aketi, Hashemi and Roy 2024, arXiv 2404.05919; code: aparna-aketi/AdaG_SGD) uses a
// gamma for each element, which is smaller if neighbours' copies have been far away. With r = s -
// x^,
//
//     v <- beta v + (1 - beta) r^2;   x <- h + min(gamma / (sqrt(v / (1 - beta^t)) + 1e-8), 1) r
//
// so that no element moves much further than gamma. The mean is not conserved.
//
// * State: x^ and s; AdaGossip also v.
// * Sends: one compressed message per neighbour and exchange: after the update (paper), or during
//   forward and backward (parallel; nothing in iteration 0).
// * Requires: a graph that does not change.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"
#include "arena/updates/adaptive.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

struct ChocoSpec : PeriodSpec {
    bool parallel;  ///< Sends during the next gradient, not after the update.
    double gamma;

    static const base::Section<ChocoSpec>& section();
};

const base::Section<ChocoSpec>& ChocoSpec::section() {
    static const base::Section<ChocoSpec> keys{
        {base::Words<bool>("order", {{"paper", false}, {"parallel", true}}, false,
                           "messages after the update, or during the next gradient"),
         &ChocoSpec::parallel},
        {consensus_step_parameter("0.5"), &ChocoSpec::gamma},
        {period_parameter("1"), &ChocoSpec::period},
    };
    return keys;
}

struct AdaGossipSpec {
    double gamma, beta;

    static const base::Section<AdaGossipSpec>& section();
};

const base::Section<AdaGossipSpec>& AdaGossipSpec::section() {
    static const base::Section<AdaGossipSpec> keys{
        {consensus_step_parameter("0.001"), &AdaGossipSpec::gamma},
        {moment_parameter("beta", "0.999", "decay of the squared distances"), &AdaGossipSpec::beta},
    };
    return keys;
}

class Choco : public CompressingAlgorithm {
public:
    Choco(const AlgorithmContext& context, double gamma)
        : CompressingAlgorithm(context), gamma_(gamma) {}

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        known_ = state.rows("algorithm/public");
        mixed_ = state.rows("algorithm/mixed_public");
        difference_ = state.scratch();
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }

protected:
    void send(Step& step) {
        step.combine(difference_.rows(), {{1, step.x}, {-1, known_}}, step.layout.all());
        messages().send(step, difference_.rows());
    }
    void receive(Step& step) { messages().receive(step, {{known_, 1, 0}, {mixed_, 0, 1}}); }
    virtual void approach(Step& step) {
        step.combine(step.x, {{1, step.x}, {gamma_, mixed_}, {-gamma_, known_}}, step.layout.all());
    }

    double gamma_;
    arena::Rows known_, mixed_;

private:
    arena::Buffer difference_;
};

class SequentialChoco : public Choco {
public:
    using Choco::Choco;
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) {
            send(step);
            receive(step);
            approach(step);
        }
        step.probe.averaged(step.x);
    }
};

class AdaGossip final : public SequentialChoco {
public:
    AdaGossip(const AlgorithmContext& context, double gamma, double beta)
        : SequentialChoco(context, gamma), beta_(beta) {}

    void declare(arena::StateTable& state) override {
        SequentialChoco::declare(state);
        squared_ = state.rows("algorithm/squared_distance");
    }

protected:
    void approach(Step& step) override {
        const TimedScope scope(step.timers, Time::exchange);
        arena::approach_adaptively(step.layout, step.x, known_, mixed_, squared_, step.layout.all(),
                                   {gamma_, beta_, step.t + 1}, step.queue);
    }

private:
    double beta_;
    arena::Rows squared_;
};

class ParallelChoco final : public Choco {
public:
    using Choco::Choco;
    void before_forward(Step& step) override {  // sends x as the previous update left it
        sends_ = step.t > 0 && averages(step.round);
        if (sends_) send(step);
    }
    void after_backward(Step& step) override {
        if (sends_) receive(step);
        step.probe.about_to_average(step.x);
        if (averages(step.round)) approach(step);
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        if (t == 0) return {};
        return messages_sent(round, 1);
    }

private:
    bool sends_ = false;
};

std::unique_ptr<Algorithm> make_choco(const ChocoSpec& spec, const AlgorithmContext& context) {
    if (spec.parallel) return std::make_unique<ParallelChoco>(context, spec.gamma);
    return std::make_unique<SequentialChoco>(context, spec.gamma);
}

std::unique_ptr<Algorithm> make_adagossip(const AdaGossipSpec& spec,
                                          const AlgorithmContext& context) {
    return std::make_unique<AdaGossip>(context, spec.gamma, spec.beta);
}

std::unique_ptr<graphs::Schedule> schedule_choco(const ChocoSpec& spec,
                                                 std::shared_ptr<const graphs::Schedule> graph,
                                                 const graphs::RunFacts&) {
    const int n = graph->size();
    return graphs::periodic_schedule(std::move(graph), graphs::no_exchange_schedule(n), spec.period,
                                     0);
}

}  // namespace

AlgorithmEntry choco_entry() {
    return {"choco",
            "compressed differences from public copies (CHOCO-SGD)",
            make_choco,
            {.sequences = false,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never},  // mixed_public = W times the public copies
            {.schedule = schedule_choco}};
}

AlgorithmEntry adagossip_entry() {
    return {"adagossip",
            "choco with a consensus step for each element (AdaGossip)",
            make_adagossip,
            {.sequences = false,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never,
             .mean = MeanRule::none,
             .bias = Bias::none}};
}

}  // namespace dbench::algorithms
