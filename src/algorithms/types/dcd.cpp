// DCD-PSGD (difference compression; Tang et al. 2018, arXiv 1803.06443; code: epfml/ChocoSGD):
// every replica knows the parameters of its neighbours, because these change only by the compressed
// messages:
//
//     q = Q(s - lr d(g(x)) - x);   x <- x + q;   s <- s + sum_j w_ij q_j
//
// s = sum_j w_ij x_j. The error of Q enters the mean.
//
// * State: s.
// * Sends: one compressed message per neighbour and iteration, after backward.
// * Requires: a graph that does not change; all replicas start with equal parameters.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

class Dcd final : public CompressingAlgorithm {
public:
    using CompressingAlgorithm::CompressingAlgorithm;

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        mixed_ = state.rows("algorithm/mixed");
        change_ = state.scratch();
    }
    void ready(Step& step, arena::Columns columns) override {
        // s = x: all replicas start with equal parameters.
        if (step.t == 0) step.copy(step.x, mixed_, columns);
        step.update(change_.rows(), mixed_, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        step.combine(change_.rows(), {{1, change_.rows()}, {-1, step.x}}, step.layout.all());
        messages().send(step, change_.rows());
        messages().receive(step, {{step.x, 1, 0}, {mixed_, 0, 1}});
        step.probe.averaged(step.x);
    }

private:
    arena::Rows mixed_;
    arena::Buffer change_;
};

std::unique_ptr<Algorithm> make_dcd(const base::NoKeys&, const AlgorithmContext& context) {
    return std::make_unique<Dcd>(context);
}

}  // namespace

AlgorithmEntry dcd_entry() {
    return {"dcd",
            "parameters change only by the compressed messages (DCD-PSGD)",
            make_dcd,
            {.sequences = false,
             .one_start = true,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never,  // `mixed` = W times the public copies
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
