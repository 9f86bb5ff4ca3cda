// Decentralized AMSGrad with a tracked second moment (Chen, Karimi, Zhao and Li 2021, arXiv
// 2109.03194, not yet checked against its text; the tracking follows the code of
// HavenCook/LoDAdaC-release). All replicas divide by nearly the same u, which tracks the mean of
// their largest second moments l:
//
//     m <- b1 m + (1 - b1) g;   v <- b2 v + (1 - b2) g^2;   l+ = max(l, v)
//     x+ = W x - lr m / sqrt(max(u, eps));   u+ = W (u - l + l+);   u_0 = l_0 = eps
//
// The growth l+ - l is added before the averaging. So on the complete graph all replicas divide by
// the same u.
//
// The bias under heterogeneous data is therefore O(lr); it is not if each replica divides by its
// own l.
//
// * State: m, v, l and u; the rows hold l - eps and u - eps, which start at 0. Scratch for W x.
// * Sends: two rows per neighbour and iteration: x during forward and backward, u - l + l+ bucket
//   by bucket during backward.
// * Requires: plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "arena/updates/adaptive.hpp"

namespace dbench::algorithms {
namespace {

struct DAmsgradSpec {
    double beta1, beta2, eps;

    static const base::Section<DAmsgradSpec>& section();
};

const base::Section<DAmsgradSpec>& DAmsgradSpec::section() {
    static const base::Section<DAmsgradSpec> keys{
        {moment_parameter("beta1", "0.9", "decay of the first moment"), &DAmsgradSpec::beta1},
        {moment_parameter("beta2", "0.999", "decay of the second moment"), &DAmsgradSpec::beta2},
        {base::Parameter::number("eps", "1e-6", "smallest and initial second moment")
             .greater_than(0),
         &DAmsgradSpec::eps},
    };
    return keys;
}

class DAmsgrad final : public MixingAlgorithm {
public:
    DAmsgrad(const graphs::Schedule* schedule, const DAmsgradSpec& spec)
        : MixingAlgorithm(schedule), beta1_(spec.beta1), beta2_(spec.beta2), eps_(spec.eps) {}

    void declare(arena::StateTable& state) override {
        first_ = state.rows("algorithm/first_moment");
        second_ = state.rows("algorithm/second_moment");
        largest_ = state.rows("algorithm/largest_second_moment");
        tracker_ = state.rows("algorithm/tracker");
        mixed_ = state.scratch();
    }

    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        parameters_.start(step, step.x);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        {
            const TimedScope scope(step.timers, Time::update);
            arena::largest_moments(step.layout, step.g, first_, second_, largest_, columns, beta1_,
                                   beta2_, eps_, step.queue);
        }
        // g holds l+ - l. The message takes its place, because x still needs the old u.
        step.combine(step.g, {{1, tracker_}, {1, step.g}}, columns);
        trackers_.push_back(step.start_mix(step.g, columns));
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
        for (const comm::Token& token : trackers_) step.finish_mix(token, tracker_);
        trackers_.clear();
    }
    Sent sent(int64_t, graphs::Round round) const override { return rows_sent(round, 2); }

private:
    double beta1_, beta2_, eps_;
    arena::Rows first_, second_, largest_, tracker_;
    arena::Buffer mixed_;
    TiledMix parameters_;
    std::vector<comm::Token> trackers_;
};

std::unique_ptr<Algorithm> make_d_amsgrad(const DAmsgradSpec& spec,
                                          const AlgorithmContext& context) {
    return std::make_unique<DAmsgrad>(context.schedule, spec);
}

}  // namespace

AlgorithmEntry d_amsgrad_entry() {
    return {"d_amsgrad",
            "AMSGrad whose second moment follows the mean over replicas",
            make_d_amsgrad,
            {.optimizer = OptimizerNeed::plain_sgd,
             .keeps_received_rows = true,
             .replica_change = ReplicaChange::multiples,  // mean(u) = mean(l)
             .mean = MeanRule::none,
             .plain_alone = false,
             .tracker = "algorithm/tracker",
             .tracked = "algorithm/largest_second_moment"}};
}

}  // namespace dbench::algorithms
