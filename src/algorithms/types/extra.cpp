// EXTRA (Shi, Ling, Wu and Yin 2015, arXiv 1404.6264) with W~ = (I + W) / 2:
//
//     x_1 = W x_0 - lr_0 g_0
//     x_{t+1} = x_t + W x_t - W~ x_{t-1} - (lr_t g_t - lr_{t-1} g_{t-1})
//
// It is exact under heterogeneous data. The code keeps the correction c, the sum of half the
// changes made by averaging:
//
//     x <- W x - lr g + c;   c <- c + (W - I) x / 2 with the old x,   c_0 = 0
//
// The changes of a doubly stochastic W sum to 0 over replicas, so c has mean 0. This also holds in
// float32 without drift, because only the small changes are added to c.
//
// * State: c; scratch for the change.
// * Sends: one row per neighbour and iteration, during forward and backward.
// * Requires: symmetric W, plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

class Extra final : public MixingAlgorithm {
public:
    using MixingAlgorithm::MixingAlgorithm;

    void declare(arena::StateTable& state) override {
        correction_ = state.rows("algorithm/correction");
        change_ = state.scratch();
    }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) exchange_.start(step, step.x);
    }
    void ready(Step& step, arena::Columns columns) override { step.decay(columns); }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        const arena::Rows x = step.x, change = change_.rows();
        if (averages(step.round)) {
            exchange_.finish_change(step, change);
            step.combine(x, {{1, x}, {1, change}}, all);
        }
        step.probe.averaged(x);
        step.apply_direction(x, x, step.g, all);
        step.combine(x, {{1, x}, {1, correction_}}, all);
        if (averages(step.round)) {
            step.combine(correction_, {{1, correction_}, {0.5, change}}, all);
        }
    }

private:
    arena::Rows correction_;
    arena::Buffer change_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_extra(const base::NoKeys&, const AlgorithmContext& context) {
    return std::make_unique<Extra>(context.schedule);
}

}  // namespace

AlgorithmEntry extra_entry() {
    return {"extra",
            "no bias under heterogeneous data (symmetric W; sends x during the gradient)",
            make_extra,
            {.graph = GraphNeed::symmetric,
             .optimizer = OptimizerNeed::plain_sgd,
             .keeps_received_rows = true,
             .replica_change = ReplicaChange::multiples,  // mean(correction) = 0
             .bias = Bias::vanishes}};
}

}  // namespace dbench::algorithms
