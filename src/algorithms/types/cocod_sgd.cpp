// CoCoD-SGD (Shen et al. 2019, arXiv 1906.12043; code: JYWa/Overlap_Local_SGD): local SGD whose
// averaging runs during the next H local steps.
//
//     x <- x - lr d(g(x));   after every H-th iteration  x <- W s + (x - s);  then s = x is sent
//
// W s is the average of the rows sent at the previous exchange; the first exchange only sends. On
// the complete graph this is the paper's algorithm.
//
// * State: s.
// * Sends: one row per neighbour and exchange, during the H local steps that follow.
// * Requires: nothing beyond a doubly stochastic W.

#include "algorithms/delayed_mix.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

struct CocodSgdSpec : PeriodSpec {
    static const base::Section<CocodSgdSpec>& section();
};

const base::Section<CocodSgdSpec>& CocodSgdSpec::section() {
    static const base::Section<CocodSgdSpec> keys{
        {period_parameter("8"), &CocodSgdSpec::period},
    };
    return keys;
}

class CocodSgd final : public DelayedMixAlgorithm {
public:
    using DelayedMixAlgorithm::DelayedMixAlgorithm;

    void declare(arena::StateTable& state) override {
        start_ = state.rows("algorithm/start");
        mixed_ = state.scratch();
    }

protected:
    void at_exchange(Step& step, bool first) override {
        const arena::Columns all = step.layout.all();
        if (!first) {
            delayed_mix_.finish(step, start_, mixed_.rows());
            step.combine(step.x, {{1, mixed_.rows()}, {1, step.x}, {-1, start_}}, all);
        }
        step.copy(step.x, start_, all);
        delayed_mix_.start(step, start_);
    }

private:
    arena::Rows start_;
    arena::Buffer mixed_;
};

std::unique_ptr<Algorithm> make_cocod_sgd(const CocodSgdSpec& spec,
                                          const AlgorithmContext& context) {
    return std::make_unique<CocodSgd>(context.schedule, spec.period);
}

}  // namespace

AlgorithmEntry cocod_sgd_entry() {
    return {"cocod_sgd",
            "local steps while the previous parameters are averaged (CoCoD-SGD)",
            make_cocod_sgd,
            {.keeps_received_rows = true},
            {.schedule = after_local_steps}};
}

}  // namespace dbench::algorithms
