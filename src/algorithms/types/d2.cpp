// D2 (Tang et al. 2018, arXiv 1803.07068, algorithm 1): a correction removes the bias of
// heterogeneous data.
//
//     x_1 = W (x_0 - lr g_0);   x_{t+1} = W (2 x_t - x_{t-1} - lr_t g_t + lr_{t-1} g_{t-1})
//
// The code computes x_{t+1} = W (h_t + c_t) with h_t = x_t - lr_t g_t, c_0 = 0 and a correction c
// in one of two forms, which are equal except for rounding:
//
//     standard   c_{t+1} = c_t + (W - I) (h_t + c_t)
//     relay      c_{t+1} = x_{t+1} - h_t                     (Vogels et al. 2021, arXiv 2110.04175)
//
// The relay form rounds c relative to the size of x in every iteration: in float32 the mean of c
// over replicas drifts randomly away from 0 and acts like a gradient of size mean(c) / lr. The
// standard form does not drift.
//
// * State: c; scratch for h_t.
// * Sends: one row per neighbour and iteration, bucket by bucket during backward.
// * Requires: symmetric W with lambda_n(W) > -1/3, plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

struct D2Spec {
    bool relay;  ///< The form of Vogels et al.

    static const base::Section<D2Spec>& section();
};

const base::Section<D2Spec>& D2Spec::section() {
    static const base::Section<D2Spec> keys{
        {base::Words<bool>(
             "form", {{"standard", false}, {"relay", true}}, false,
             "form of the correction: sum of the changes by averaging, or a difference"),
         &D2Spec::relay},
    };
    return keys;
}

class Relay final : public AdaptThenCombine {
public:
    using AdaptThenCombine::AdaptThenCombine;

    void declare(arena::StateTable& state) override {
        correction_ = state.rows("algorithm/correction");
        h_ = state.scratch();
    }

protected:
    void adapt(Step& step, arena::Columns columns) override {
        step.decay(columns);
        step.apply_direction(h_.rows(), step.x, step.g, columns);
        step.combine(step.x, {{1, h_.rows()}, {1, correction_}}, columns);
    }
    void combined(Step& step) override {
        step.combine(correction_, {{1, step.x}, {-1, h_.rows()}}, step.layout.all());
    }

private:
    arena::Rows correction_;
    arena::Buffer h_;
};

std::unique_ptr<Algorithm> make_d2(const D2Spec& spec, const AlgorithmContext& context) {
    if (spec.relay) return std::make_unique<Relay>(context.schedule);
    return std::make_unique<CorrectedAdaptThenCombine>(context.schedule, 1.0);
}

}  // namespace

AlgorithmEntry d2_entry() {
    return {"d2",
            "D2: no bias under heterogeneous data (symmetric W, lambda_n > -1/3)",
            make_d2,
            {.graph = GraphNeed::symmetric,
             .lambda_min = -1.0 / 3 + 1e-9,
             .optimizer = OptimizerNeed::plain_sgd,
             .replica_change = ReplicaChange::multiples,  // mean(correction) = 0
             .bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
