// DSGD-AC, decentralized SGD with an adaptive consensus factor a (arXiv 2602.02899, and the code of
// Decent-DP), in the order combine_while_adapt:
//
//     x <- (1 - a_t) x + a_t W x - lr d(g(x))
//     a_t = 1 before start_epoch;  a_min + (a_max - a_min) (lr_t / lr_max)^p  from then on
//
// lr_max is the largest learning rate of the run (in the authors' later code, the rate at
// start_epoch).
//
// * State: none. Scratch for W x.
// * Sends: one row per neighbour and iteration, during forward and backward.
// * Memory: keeps the received rows during the gradient.

#include <cmath>

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace dbench::algorithms {
namespace {

struct DsgdAcSpec {
    int64_t start_epoch;
    double a_min, a_max, p;

    static const base::Section<DsgdAcSpec>& section();
};

const base::Section<DsgdAcSpec>& DsgdAcSpec::section() {
    using P = base::Parameter;
    static const base::Section<DsgdAcSpec> keys{
        {P::integer("start_epoch", "10", "full averaging before this epoch").at_least(0),
         &DsgdAcSpec::start_epoch},
        {P::number("a_min", "0", "share of averaging at learning rate 0").at_least(0).at_most(1),
         &DsgdAcSpec::a_min},
        {P::number("a_max", "1", "share of averaging at the largest rate").at_least(0).at_most(1),
         &DsgdAcSpec::a_max},
        {P::number("p", "3", "power of lr / lr_max").at_least(0), &DsgdAcSpec::p},
    };
    return keys;
}

class DsgdAc final : public MixingAlgorithm {
public:
    DsgdAc(const DsgdAcSpec& spec, const AlgorithmContext& context)
        : MixingAlgorithm(context.schedule),
          start_(spec.start_epoch * context.run.per_epoch),
          a_min_(spec.a_min),
          a_max_(spec.a_max),
          p_(spec.p),
          lr_max_(context.lr_max) {}

    void declare(arena::StateTable& state) override { mixed_ = state.scratch(); }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        exchange_.start(step, step.x);
    }
    void after_backward(Step& step) override {
        const arena::Rows mixed = mixed_.rows();
        exchange_.finish(step, mixed);
        step.probe.averaged(mixed);
        const double a = factor(step.t, step.numbers.lr);
        if (a != 1) step.combine(mixed, {{1 - a, step.x}, {a, mixed}}, step.layout.all());
        step.update(step.x, mixed, step.x, step.layout.all());
    }

private:
    double factor(int64_t t, double lr) const {
        if (t < start_ || lr_max_ == 0) return 1;
        return a_min_ + (a_max_ - a_min_) * std::pow(lr / lr_max_, p_);
    }

    int64_t start_;
    double a_min_, a_max_, p_, lr_max_;
    arena::Buffer mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_dsgd_ac(const DsgdAcSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<DsgdAc>(spec, context);
}

void check_dsgd_ac(const DsgdAcSpec& spec, const std::string& pointer) {
    if (spec.a_min <= spec.a_max) return;
    throw base::UserError(pointer + "/a_min: must be at most a_max (" +
                          base::number_text(spec.a_max) + "): lower it");
}

}  // namespace

AlgorithmEntry dsgd_ac_entry() {
    return {"dsgd_ac",
            "decentralized SGD whose averaging weakens with the learning rate",
            make_dsgd_ac,
            {.keeps_received_rows = true},
            {.check = check_dsgd_ac}};
}

}  // namespace dbench::algorithms
