// DmSGD, decentralized momentum SGD with averaged momentum:
//
//     x <- W (x - lr m);   m <- W (beta m + g(x))       x with the m from before
//
// Follows Ying et al. 2021 (arXiv 2110.13363); not yet checked against the paper's text. The
// paper's code (Bluefog-Lib/NeurIPS2021-Exponential-Graph) uses local momentum instead, which is
// dsgd with sgd momentum here.
//
// * State: m.
// * Sends: two rows (x and m) per neighbour and iteration, bucket by bucket during backward.
// * Requires: plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

struct AveragedMomentumSpec {
    double beta;

    static const base::Section<AveragedMomentumSpec>& section();
};

const base::Section<AveragedMomentumSpec>& AveragedMomentumSpec::section() {
    static const base::Section<AveragedMomentumSpec> keys{
        {base::Parameter::number("beta", "0.9", "momentum").at_least(0).at_most(1),
         &AveragedMomentumSpec::beta},
    };
    return keys;
}

class AveragedMomentum final : public MixingAlgorithm {
public:
    AveragedMomentum(const graphs::Schedule* schedule, double beta)
        : MixingAlgorithm(schedule), beta_(beta) {}

    void declare(arena::StateTable& state) override { m_ = state.rows("algorithm/momentum"); }
    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        step.apply_direction(step.x, step.x, m_, columns);
        step.combine(m_, {{beta_, m_}, {1, step.g}}, columns);
        if (!averages(step.round)) return;
        parameters_.push_back(step.start_mix(step.x, columns));
        momenta_.push_back(step.start_mix(m_, columns));
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        for (const auto& token : parameters_) step.finish_mix(token, step.x);
        for (const auto& token : momenta_) step.finish_mix(token, m_);
        parameters_.clear();
        momenta_.clear();
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 2); }

private:
    double beta_;
    arena::Rows m_;
    std::vector<comm::Token> parameters_, momenta_;
};

std::unique_ptr<Algorithm> make_averaged_momentum(const AveragedMomentumSpec& spec,
                                                  const AlgorithmContext& context) {
    return std::make_unique<AveragedMomentum>(context.schedule, spec.beta);
}

}  // namespace

AlgorithmEntry averaged_momentum_entry() {
    return {"averaged_momentum",
            "momentum SGD that averages momenta and parameters (DmSGD)",
            make_averaged_momentum,
            {.optimizer = OptimizerNeed::plain_sgd,
             .mean = MeanRule::momentum_before,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
