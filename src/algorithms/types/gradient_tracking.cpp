// Gradient tracking: the tracker y follows the mean gradient of all replicas, and the parameters
// move along y. Parameters and trackers of iteration t use the same W_t. The tracker starts with
// y_0 = g_0 (start local), or with y_0 = W_0 g_0 (start averaged), as in the code of
// epfml/relaysgd.
//
//     atc      y_t = W_t (y_{t-1} + g_t - g_{t-1});   x_{t+1} = W_t (x_t - lr y_t)
//                                          (Di Lorenzo and Scutari 2016, arXiv 1602.00591; NEXT)
//     diging   y_t = W_{t-1} y_{t-1} + g_t - g_{t-1};   x_{t+1} = W_t x_t - lr y_t
//                                          (Nedic, Olshevsky and Shi 2017, arXiv 1607.03218;
//                                          DIGing)
//
// * State: y and g_{t-1}.
// * Sends: two rows (x and y) per neighbour and iteration. With start local, atc sends the tracker
//   from iteration 1 on. With start averaged, diging sends it twice in iteration 0.
// * Memory: diging also keeps W x and the received rows, because its parameters are exchanged
//   during forward and backward.
// * Requires: plain SGD.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "algorithms/tracked_descent.hpp"

namespace dbench::algorithms {
namespace {

struct GradientTrackingSpec {
    bool diging;          ///< Averages during the update, not after it.
    bool averages_first;  ///< y_0 = W_0 g_0.

    static const base::Section<GradientTrackingSpec>& section();
};

const base::Section<GradientTrackingSpec>& GradientTrackingSpec::section() {
    static const base::Section<GradientTrackingSpec> keys{
        {base::Words<bool>("form", {{"atc", false}, {"diging", true}}, false,
                           "averaging after or during the update"),
         &GradientTrackingSpec::diging},
        {base::Words<bool>("start", {{"local", false}, {"averaged", true}}, false,
                           "first tracker: the gradient, or its average over neighbours"),
         &GradientTrackingSpec::averages_first},
    };
    return keys;
}

class Tracking : public MixingAlgorithm {
public:
    Tracking(const graphs::Schedule* schedule, bool averages_first)
        : MixingAlgorithm(schedule), averages_first_(averages_first) {}

    void declare(arena::StateTable& state) override {
        y_ = state.rows("algorithm/tracker");
        g_before_ = state.rows("algorithm/previous_gradient");
    }

protected:
    /// Computes y <- y + g_t - g_{t-1}; in iteration 0, y <- g_0.
    void track(Step& step, arena::Columns columns) {
        step.decay(columns);
        if (step.t == 0) {
            step.copy(step.g, y_, columns);
        } else {
            step.combine(y_, {{1, y_}, {1, step.g}, {-1, g_before_}}, columns);
        }
        step.copy(step.g, g_before_, columns);
    }

    const bool averages_first_;  ///< y_0 = W_0 g_0.
    arena::Rows y_, g_before_;
};

class GradientTrackingAtc final : public Tracking {
public:
    using Tracking::Tracking;

    void ready(Step& step, arena::Columns columns) override {
        track(step, columns);
        const bool sends = (step.t > 0 || averages_first_) && averages(step.round);
        trackers_.push_back({sends ? step.start_mix(y_, columns) : nullptr, columns});
    }
    void after_backward(Step& step) override {
        std::vector<comm::Token> parameters;
        for (const auto& [token, columns] : trackers_) {
            if (token) step.finish_mix(token, y_);
            step.apply_direction(step.x, step.x, y_, columns);
            if (averages(step.round)) parameters.push_back(step.start_mix(step.x, columns));
        }
        trackers_.clear();
        step.probe.about_to_average(step.x);
        for (const auto& token : parameters) step.finish_mix(token, step.x);
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        return rows_sent(round, t == 0 && !averages_first_ ? 1 : 2);
    }

private:
    std::vector<PendingTile> trackers_;
};

class Diging final : public Tracking {
public:
    using Tracking::Tracking;

    void declare(arena::StateTable& state) override {
        Tracking::declare(state);
        descent_.declare(state);
    }
    void before_forward(Step& step) override { descent_.before_forward(step); }
    void ready(Step& step, arena::Columns columns) override {
        track(step, columns);
        descent_.send(step, y_, columns);
    }
    void after_backward(Step& step) override {
        if (averages_first_ && step.t == 0) descent_.send_averaged(step, y_);
        descent_.finish(step, y_);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        return rows_sent(round, t == 0 && averages_first_ ? 3 : 2);
    }

private:
    TrackedDescent descent_;
};

std::unique_ptr<Algorithm> make_gradient_tracking(const GradientTrackingSpec& spec,
                                                  const AlgorithmContext& context) {
    if (spec.diging) return std::make_unique<Diging>(context.schedule, spec.averages_first);
    return std::make_unique<GradientTrackingAtc>(context.schedule, spec.averages_first);
}

void refine_gradient_tracking(const GradientTrackingSpec& spec, Traits& traits) {
    traits.keeps_received_rows = spec.diging;
}

}  // namespace

AlgorithmEntry gradient_tracking_entry() {
    return {"gradient_tracking",
            "parameters move along a tracker of the mean gradient: no bias",
            make_gradient_tracking,
            {.optimizer = OptimizerNeed::plain_sgd,
             .replica_change = ReplicaChange::multiples,  // mean(y) = mean(g_before)
             .bias = Bias::vanishes,
             .tracker = "algorithm/tracker"},
            {.refine = refine_gradient_tracking}};
}

}  // namespace dbench::algorithms
