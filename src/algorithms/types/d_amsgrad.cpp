// Decentralized AMSGrad with a tracked second moment (Chen, Karimi, Zhao and Li 2021, arXiv
// 2109.03194, from memory of the paper: its text was not compared; the tracking as
// HavenCook/LoDAdaC-release has it): all replicas divide by about the same u, which follows the
// mean of their largest second moments,
//
//     m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   l+ = max(l, v)
//     x+ = W x - lr m / sqrt(max(u, eps));   u+ = W u - l + l+;   u_0 = l_0 = eps
//
// so that the bias under heterogeneous data is O(lr), which is not so where each divides by its
// own. Rows hold l - eps and u - eps, which begin at 0. Two rows per neighbour and iteration,
// during forward and backward; keeps m, v, l and u, and W x.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"
#include "arena/updates/adaptive.hpp"

namespace dbench::algorithms {
namespace {

class DAmsgrad final : public Mixed {
public:
    DAmsgrad(const graphs::Schedule* schedule, const base::Json& spec)
        : Mixed(schedule),
          beta1_(spec.at("beta1")),
          beta2_(spec.at("beta2")),
          eps_(spec.at("eps")) {}

    void declare(arena::StateTable& state) override {
        first_ = state.rows("algorithm/first_moment");
        second_ = state.rows("algorithm/second_moment");
        largest_ = state.rows("algorithm/largest_second_moment");
        tracker_ = state.rows("algorithm/tracker");
        mixed_ = state.scratch();
    }
    bool keeps_means() const override { return true; }  // mean(u) = mean(l)

    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        parameters_.start(step, step.x);
        trackers_.start(step, tracker_);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        const TimedScope scope(step.timers, Time::update);
        arena::largest_moments(step.layout, step.g, first_, second_, largest_, columns, beta1_,
                               beta2_, eps_, step.queue);
    }
    void after_backward(Step& step) override {
        parameters_.finish(step, mixed_.rows());
        step.probe.averaged(mixed_.rows());
        {
            const TimedScope scope(step.timers, Time::update);
            arena::descend_by_size(step.layout, step.x, mixed_.rows(), first_, tracker_,
                                   step.layout.all(), step.numbers.lr, eps_,
                                   step.probe.squared_update(), step.queue);
        }
        trackers_.finish(step, tracker_);
        step.combine(tracker_, {{1, tracker_}, {1, step.g}}, step.layout.all());  // g: l+ - l
    }
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 2); }
    bool keeps_received_rows() const override { return true; }

private:
    double beta1_, beta2_, eps_;
    arena::Rows first_, second_, largest_, tracker_;
    arena::Buffer mixed_;
    TiledMix parameters_, trackers_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<DAmsgrad>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry d_amsgrad_entry() {
    return {{"d_amsgrad",
             "AMSGrad whose second moment follows the mean over replicas",
             {moment_parameter("beta1", "0.9", "decay of the first moment"),
              moment_parameter("beta2", "0.999", "decay of the second moment"),
              base::Parameter::number("eps", "1e-6", "smallest second moment, and the first")
                  .greater_than(0)}},
            make,
            {.optimizer = OptimizerNeed::plain_sgd},
            {.mean = MeanRule::none,
             .plain_alone = false,
             .tracker = "algorithm/tracker",
             .tracked = "algorithm/largest_second_moment"}};
}

}  // namespace dbench::algorithms
