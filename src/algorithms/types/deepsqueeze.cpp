// DeepSqueeze (Tang et al. 2019, arXiv 1907.07346; code: epfml/ChocoSGD, epfml/powergossip):
// compressed parameters; the part e that compression drops is added to the next message.
//
//     h = x - lr d(g(x));   v = h + e;   c = Q(v);   e <- v - c
//     x <- h + gamma sum_j w_ij (c_j - c_i)
//
// The mean moves as without compression for every Q. The part that Q drops is a share of x itself,
// and does not vanish with the learning rate.
//
// * State: e.
// * Sends: one compressed message per neighbour and iteration, after backward.
// * Requires: nothing beyond a doubly stochastic W.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

struct DeepSqueezeSpec {
    double gamma;

    static const base::Section<DeepSqueezeSpec>& section();
};

const base::Section<DeepSqueezeSpec>& DeepSqueezeSpec::section() {
    static const base::Section<DeepSqueezeSpec> keys{
        {consensus_step_parameter("0.5"), &DeepSqueezeSpec::gamma},
    };
    return keys;
}

class DeepSqueeze final : public CompressingAlgorithm {
public:
    DeepSqueeze(const AlgorithmContext& context, double gamma)
        : CompressingAlgorithm(context), gamma_(gamma) {}

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        error_ = state.rows("algorithm/error");
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) {
            step.combine(error_, {{1, step.x}, {1, error_}}, step.layout.all());
            messages().send(step, error_);
            messages().receive(step, {{error_, -1, 0}, {step.x, -gamma_, gamma_}});
        }
        step.probe.averaged(step.x);
    }

private:
    double gamma_;
    arena::Rows error_;
};

std::unique_ptr<Algorithm> make_deepsqueeze(const DeepSqueezeSpec& spec,
                                            const AlgorithmContext& context) {
    return std::make_unique<DeepSqueeze>(context, spec.gamma);
}

}  // namespace

AlgorithmEntry deepsqueeze_entry() {
    return {"deepsqueeze",
            "compressed parameters; the dropped part is added to the next message (DeepSqueeze)",
            make_deepsqueeze,
            {.messages = Messages::coded, .bias = Bias::none}};
}

}  // namespace dbench::algorithms
