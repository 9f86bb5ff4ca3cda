#include "train/run/run_plan.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dbench::train {
namespace {

constexpr int64_t kMostIterations = 1'000'000'000'000;
// With delays, fast ranks must not wait for slow ones except where the algorithm does. So recording
// and stop requests synchronise ranks at most once in this many iterations.
constexpr int64_t kDelayedSyncInterval = 16;

int64_t interval(const std::optional<base::Duration>& every, const base::RunLength& run) {
    return every ? base::to_iterations(*every, run) : 0;
}

}  // namespace

base::RunLength run_length(const RunSpec& spec, const data::BatchPlan& batches) {
    base::RunLength run{0, batches.per_epoch, batches.samples_per_iteration};
    run.iterations = base::to_iterations(spec.length, run);
    if (run.iterations > kMostIterations) {
        throw base::UserError(
            "/length: is " + std::to_string(run.iterations) +
            " iterations or more (a run has at most 10^12: three years of 0.1 ms each): "
            "choose less");
    }
    return run;
}

TrainerPlan plan_training(const RunSpec& spec, const base::RunLength& run, int64_t train_samples) {
    TrainerPlan plan;
    static_cast<base::RunLength&>(plan) = run;
    plan.evaluate_every = interval(spec.evaluate.every, run);
    plan.checkpoint_every = interval(spec.checkpoint.every, run);
    plan.train_samples = train_samples;
    plan.type = spec.precision;
    plan.stop_on_nonfinite = spec.stop_on_nonfinite;
    if (!spec.delays.empty()) plan.min_sync_interval = kDelayedSyncInterval;
    const ProfileSpec& profile = spec.profile;
    const auto rows = base::to_cadence(profile.every, "/profile/every", run);
    const auto exact = base::to_cadence(profile.variance.every, "/profile/variance/every", run);
    if (profile.norms) plan.profile.rows = rows;
    if (profile.variance.exact) plan.profile.variance = exact;
    plan.profile.after = profile.after;
    return plan;
}

EvaluationPlan plan_evaluation(const RunSpec& spec, const data::Dataset& test) {
    const int64_t n = spec.replicas;
    return {spaced_replicas(n, std::min(n, spec.evaluate.replicas)), spec.evaluate.batch_size,
            spec.evaluate.recalibrate, spec.evaluate.carried,
            metrics_for(spec.evaluate.metrics, test)};
}

}  // namespace dbench::train
