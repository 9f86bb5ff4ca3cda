// Momentum tracking (Takezawa et al. 2022, arXiv 2209.15505; the form and the start are those of
// the authors' code, yukiTakezawa/MomentumTracking): the tracker y follows the mean momentum of all
// replicas, so the momentum adds no bias under heterogeneous data. The code keeps c = u - y:
//
//     u_t = beta u_{t-1} + g_t;   x_{t+1} = W_t x_t - lr (u_t - c_t);
//     c_{t+1} = W_t (c_t - u_t) + u_t
//
// With y_t = u_t - c_t this is gradient tracking in the form diging, of u instead of g:
//
//     y_t = W_{t-1} y_{t-1} + u_t - u_{t-1};   x_{t+1} = W_t x_t - lr y_t
//
// start mean    u_{-1} = c_0 = (g_0 - mean_j g_0) / (1 - beta), as in the code, so that
//               y_0 = mean_j g_0. It needs an all-reduce in iteration 0.
// start local   u_{-1} = c_0 = 0, so that y_0 = g_0.
//
// * State: y and u. Scratch for W x.
// * Sends: two rows (x and y) per neighbour and iteration, x during forward and backward.
//   With start mean, also an all-reduce of one row in iteration 0.
// * Requires: plain SGD. With start mean, messages in float32: a rounded mean would stay in y.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "algorithms/tracked_descent.hpp"

namespace dbench::algorithms {
namespace {

struct MomentumTrackingSpec {
    double beta;
    bool starts_with_mean;  ///< y_0 is the mean gradient of all replicas.

    static const base::Section<MomentumTrackingSpec>& section();
};

const base::Section<MomentumTrackingSpec>& MomentumTrackingSpec::section() {
    static const base::Section<MomentumTrackingSpec> keys{
        {moment_parameter("beta", "0.9", "momentum"), &MomentumTrackingSpec::beta},
        {base::Words<bool>("start", {{"mean", true}, {"local", false}}, true,
                           "first tracker: the mean gradient of all replicas, or the own gradient"),
         &MomentumTrackingSpec::starts_with_mean},
    };
    return keys;
}

class MomentumTracking final : public MixingAlgorithm {
public:
    MomentumTracking(const MomentumTrackingSpec& spec, const AlgorithmContext& context)
        : MixingAlgorithm(context.schedule),
          beta_(spec.beta),
          starts_with_mean_(spec.starts_with_mean),
          mean_cost_(comm::all_reduce_cost(context.replicas)) {}

    void declare(arena::StateTable& state) override {
        y_ = state.rows("algorithm/tracker");
        u_ = state.rows("algorithm/momentum");
        descent_.declare(state);
    }
    void before_forward(Step& step) override { descent_.before_forward(step); }
    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        if (step.t == 0 && starts_with_mean_) {
            step.copy(step.g, y_, columns);
            const TimedScope scope(step.timers, Time::exchange);
            means_.push_back({step.exchange.start_all_reduce(y_, columns), columns});
            return;
        }
        // u_t - u_{t-1} = (beta - 1) u_{t-1} + g_t
        step.combine(y_, {{1, y_}, {beta_ - 1, u_}, {1, step.g}}, columns);
        step.combine(u_, {{beta_, u_}, {1, step.g}}, columns);
        descent_.send(step, y_, columns);
    }
    void after_backward(Step& step) override {
        for (const auto& [token, columns] : means_) {
            {
                const TimedScope scope(step.timers, Time::exchange,
                                       comm::Exchange::traced_bucket(token));
                step.exchange.finish_all_reduce(token);
            }
            const double past = beta_ / (1 - beta_);
            step.combine(u_, {{1 + past, step.g}, {-past, y_}}, columns);
            descent_.send(step, y_, columns);
        }
        means_.clear();
        descent_.finish(step, y_);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        Sent all = rows_sent(round, 2);
        if (t == 0 && starts_with_mean_) {
            all.messages += mean_cost_.messages;
            all.rows += mean_cost_.rows;
        }
        return all;
    }

private:
    double beta_;
    bool starts_with_mean_;
    comm::RoundCost mean_cost_;
    arena::Rows y_, u_;
    TrackedDescent descent_;
    std::vector<PendingTile> means_;
};

std::unique_ptr<Algorithm> make_momentum_tracking(const MomentumTrackingSpec& spec,
                                                  const AlgorithmContext& context) {
    return std::make_unique<MomentumTracking>(spec, context);
}

void refine_momentum_tracking(const MomentumTrackingSpec& spec, Traits& traits) {
    if (!spec.starts_with_mean) traits.messages = Messages::rows;
}

}  // namespace

AlgorithmEntry momentum_tracking_entry() {
    return {"momentum_tracking",
            "momentum SGD along a tracker of the mean momentum: no bias",
            make_momentum_tracking,
            {.optimizer = OptimizerNeed::plain_sgd,
             .messages = Messages::exact_rows,
             .keeps_received_rows = true,
             .replica_change = ReplicaChange::multiples,  // mean(y) = mean(u)
             .mean = MeanRule::momentum,
             .bias = Bias::vanishes,
             .plain_alone = false,
             .tracker = "algorithm/tracker",
             .tracked = "algorithm/momentum"},
            {.refine = refine_momentum_tracking}};
}

}  // namespace dbench::algorithms
