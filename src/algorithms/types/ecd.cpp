// ECD-PSGD (extrapolation compression; Tang et al. 2018, arXiv 1803.06443; code: epfml/ChocoSGD),
// with t counted from 1:
//
//     x+ = s - lr d(g(x));   y = Q((1 - t/2) x + (t/2) x+)
//     s <- (1 - 2/t) s + (2/t) sum_j w_ij y_j;   s_0 = x_0
//
// The error of the neighbours' estimates of x shrinks with t, while the values in the message grow
// with t. Without compression this is dsgd in the order combine_while_adapt.
//
// * State: s.
// * Sends: one compressed message per neighbour and iteration, after backward.
// * Requires: a graph that does not change; all replicas start with equal parameters.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

class Ecd final : public CompressingAlgorithm {
public:
    using CompressingAlgorithm::CompressingAlgorithm;

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        mixed_ = state.rows("algorithm/mixed");
        next_ = state.scratch();
    }
    void ready(Step& step, arena::Columns columns) override {
        // s = x: all replicas start with equal parameters.
        if (step.t == 0) step.copy(step.x, mixed_, columns);
        step.update(next_.rows(), mixed_, step.x, columns);
    }
    void after_backward(Step& step) override {
        const double half = static_cast<double>(step.t + 1) / 2;
        const arena::Columns all = step.layout.all();
        step.probe.about_to_average(step.x);
        step.combine(step.x, {{1 - half, step.x}, {half, next_.rows()}}, all);
        messages().send(step, step.x);
        step.copy(next_.rows(), step.x, all);
        step.combine(mixed_, {{1 - 1 / half, mixed_}}, all);
        messages().receive(step, {{mixed_, 0, 1 / half}});
        step.probe.averaged(step.x);
    }

private:
    arena::Rows mixed_;
    arena::Buffer next_;
};

std::unique_ptr<Algorithm> make_ecd(const base::NoKeys&, const AlgorithmContext& context) {
    return std::make_unique<Ecd>(context);
}

}  // namespace

AlgorithmEntry ecd_entry() {
    return {"ecd",
            "compressed extrapolations, whose error decreases with time (ECD-PSGD)",
            make_ecd,
            {.sequences = false,
             .one_start = true,
             .messages = Messages::coded,
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
