#include "train/run/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "algorithms/asynchronous/rank_peers.hpp"
#include "arena/tree.hpp"
#include "comm/exchange/receive_bytes.hpp"
#include "train/run/run_facts.hpp"

namespace dbench::train {
namespace {

/// Returns the messages that rank 0 keeps in a round: one that each local replica makes for itself,
/// those made for its neighbours, and those received from other ranks.
int64_t link_messages(const graphs::Schedule& schedule, graphs::Round round,
                      const comm::Placement& placement) {
    int64_t count = placement.count(0);
    for (int i = 0; i < static_cast<int>(placement.count(0)); ++i) {
        for (const graphs::Link& link : schedule.out(round, i)) count += link.peer != i;
        for (const graphs::Link& link : schedule.in(round, i)) {
            count += placement.rank_of(link.peer) != 0;
        }
    }
    return count;
}

/// Returns iterations that represent a long run: those of whole periods if the schedule repeats,
/// else iterations spread over the run at uneven distances. Many periods are taken, because an
/// algorithm may have a period of its own, such as the turns of DiLoCo's fragments. Iteration 0 is
/// left out of longer runs, because some algorithms send more in it.
std::vector<int64_t> representative_iterations(int64_t iterations, int64_t period) {
    constexpr int64_t kPeriods = 64, kMost = 4096, kSpread = 1024;
    std::vector<int64_t> chosen;
    if (period > 0 && period <= kMost) {
        const int64_t periods = std::clamp<int64_t>(kMost / period, 1, kPeriods);
        for (int64_t t = 1; t <= periods * period; ++t) chosen.push_back(t);
        return chosen;
    }
    const int64_t span = period > 0 ? std::min(period, iterations - 1) : iterations - 1;
    const int64_t count = std::clamp<int64_t>(span, 1, kSpread);
    for (int64_t k = 0; k < count; ++k) {
        double whole;
        const double offset = std::modf(static_cast<double>(k) * std::numbers::phi, &whole);
        const double at = (static_cast<double>(k) + offset) / static_cast<double>(count);
        chosen.push_back(
            std::min(iterations - 1, 1 + static_cast<int64_t>(at * static_cast<double>(span))));
    }
    return chosen;
}

// Computes the mean bytes sent per step and the largest number of bytes received in one round.
void estimate_exchange(const EstimateInputs& run, Estimates& e) {
    const algorithms::Algorithm& algorithm = run.stepper.algorithm();
    const graphs::Schedule* schedule = run.stepper.schedule();
    const std::vector<int64_t> iterations =
        representative_iterations(run.plan.iterations, schedule ? schedule->period() : 1);
    std::set<uint64_t> seen;  // Matrices of examined rounds.
    e.link_message_bytes = algorithm.link_message_bytes();
    for (const int64_t t : iterations) {
        const graphs::Round round = run.stepper.round(t);
        e.bytes_per_step +=
            run.stepper.bytes_of(algorithm.sent(t, round)) / static_cast<double>(iterations.size());
        if (!seen.insert(round.matrix).second || seen.size() > 64) continue;
        if (run.combination.traits.keeps_received_rows) {
            e.received_bytes = std::max(
                e.received_bytes, comm::receive_bytes(*schedule, round, run.placement, run.layout,
                                                      run.codec, run.plan.type));
        }
        if (e.link_message_bytes > 0) {
            e.received_bytes =
                std::max(e.received_bytes,
                         e.link_message_bytes * link_messages(*schedule, round, run.placement));
        }
    }
}

// Returns the bytes that a rank keeps for ranks that do not wait for it.
int64_t peers_bytes(const EstimateInputs& run) {
    const algorithms::Asynchronous* algorithm = run.stepper.algorithm().asynchronous();
    if (!algorithm || run.placement.ranks == 1) return 0;
    return algorithms::rows_of_rank_peers(*algorithm, *run.stepper.schedule()) *
           run.layout.columns() * arena::size_of(run.plan.type);
}

// Each rank sends the float64 means of its maximal subtrees (or, if a subtree is one replica, the
// row itself) to the owners of the columns.
double variance_bytes_per_step(const EstimateInputs& run) {
    const comm::Placement& placement = run.placement;
    const int64_t r = placement.ranks;
    if (r == 1 || !run.plan.profile.variance.any_due()) return 0;
    double element_bytes = 0;
    for (int rank = 0; rank < r; ++rank) {
        for (const arena::Interval node : arena::maximal_subtrees(
                 placement.replicas, {placement.begin(rank), placement.begin(rank + 1)})) {
            const bool row = node.end - node.begin == 1;
            element_bytes += static_cast<double>(row ? arena::size_of(run.plan.type) : 8);
        }
    }
    const int64_t iterations = run.plan.iterations;
    return element_bytes * static_cast<double>(run.layout.numel()) * static_cast<double>(r - 1) /
           static_cast<double>(r) *
           static_cast<double>(run.plan.profile.variance.count(iterations)) /
           static_cast<double>(iterations);
}

/// Returns the samples that pass forward through a model in all evaluations of the run.
double evaluated_samples(const EstimateInputs& run) {
    const TrainerPlan& plan = run.plan;
    const double evaluations =
        plan.evaluate_every > 0
            ? 2.0 + static_cast<double>((plan.iterations - 1) / plan.evaluate_every)
            : 2.0;
    return evaluations * static_cast<double>(run.evaluated_models) *
           static_cast<double>(run.evaluation_samples);
}

double evaluation_share(const EstimateInputs& run) {
    const TrainerPlan& plan = run.plan;
    const double forwards = evaluated_samples(run);
    const double training = 3.0 * static_cast<double>(plan.iterations) * run.samples_per_step;
    return forwards / (forwards + training);
}

void estimate_delays(const EstimateInputs& run, Estimates& e) {
    const comm::Placement& placement = run.placement;
    for (int rank = 0; rank < placement.ranks && run.delays.any(); ++rank) {
        double sum = 0;
        for (int64_t i = placement.begin(rank); i < placement.begin(rank + 1); ++i) {
            sum += run.delays.expected(i);
        }
        e.replica_delay += sum / static_cast<double>(placement.replicas);
        e.rank_delay = std::max(e.rank_delay, sum);
    }
    // Delays of an asynchronous run on one rank are virtual: no rank waits for them.
    if (run.combination.traits.asynchronous && placement.ranks == 1) {
        e.rank_delay = 0;
        return;
    }
    e.slowest_delay = slowest_delay(run.delays, placement, run.plan.iterations);
}

bool barriers_in_every_iteration(const TrainerPlan& plan) {
    const algorithms::ProfilePlan& profile = plan.profile;
    return profile.rows.mean_interval(plan.iterations) == 1 ||
           profile.variance.mean_interval(plan.iterations) == 1;
}

/// Returns whether evaluation takes more than a tenth of the run's time, and more than some
/// seconds: below 1e11 samples times parameters, one processor core needs seconds (fully connected
/// layers) or a few minutes (convolutions). The default evaluation of a small run is not worth a
/// warning.
bool evaluates_too_much(const EstimateInputs& run, const Estimates& e) {
    constexpr double kLong = 1e11;
    return e.evaluation_share > 0.10 &&
           evaluated_samples(run) * static_cast<double>(run.layout.numel()) > kLong;
}

std::string percent(double share) {
    return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
}

}  // namespace

double slowest_delay(const algorithms::Delays& delays, const comm::Placement& placement,
                     int64_t iterations) {
    if (!delays.any()) return 0;
    const int64_t affordable = std::clamp<int64_t>(1'000'000 / placement.replicas, 10, 1000);
    const int64_t sample = std::min(iterations, affordable);
    double sum = 0;
    for (int64_t t = 0; t < sample; ++t) {
        double slowest = 0;
        for (int rank = 0; rank < placement.ranks; ++rank) {
            slowest =
                std::max(slowest, delays.seconds(placement.begin(rank), placement.count(rank), t));
        }
        sum += slowest;
    }
    return sum / static_cast<double>(sample);
}

Estimates estimate(const EstimateInputs& run) {
    Estimates e;
    e.iterations = run.plan.iterations;
    e.per_epoch = run.plan.per_epoch;
    e.left_out = run.batches.left_out;
    estimate_exchange(run, e);
    e.received_bytes += peers_bytes(run);
    const int64_t element = arena::size_of(run.plan.type), local = run.placement.count(0);
    const int64_t columns = run.layout.columns();
    const int64_t elements = 2 * columns + run.buffer_columns + run.stepper.state_elements();
    e.memory_bytes = local * element * elements + columns * (element + 8) + e.received_bytes;
    e.profile_bytes_per_step = variance_bytes_per_step(run);
    e.evaluation_share = evaluation_share(run);
    estimate_delays(run, e);
    return e;
}

std::vector<std::string> warnings(const EstimateInputs& run, const Estimates& e) {
    std::vector<std::string> out;
    if (e.left_out > 0.05) {
        out.push_back("/data/batch_size: " + percent(e.left_out) +
                      " of the training samples are left out of each epoch (replicas take whole "
                      "batches of their own samples only)");
    }
    if (evaluates_too_much(run, e)) {
        out.push_back("/evaluate: evaluation is " + percent(e.evaluation_share) +
                      " of the run's work (fewer /evaluate/replicas or a longer /evaluate/every "
                      "would lower it)");
    }
    const graphs::Schedule* schedule = run.stepper.schedule();
    algorithms::Facts facts = run.combination;
    facts.schedule = schedule_facts(run.stepper.staged(), run.plan.iterations);
    facts.schedule->silent =
        run.placement.replicas > 1 && schedule &&
        never_exchanges(run.stepper.algorithm(), *schedule, run.plan.iterations);
    facts.schedule->barriers = run.plan.iterations > 1 && barriers_in_every_iteration(run.plan);
    for (const algorithms::Problem& problem : algorithms::find_problems(facts)) {
        out.push_back(problem.text());
    }
    if (run.plan.profile.after && !run.plan.profile.variance.any_due()) {
        out.push_back(
            "/profile/after: nothing is measured after averaging, because "
            "/profile/variance is never due");
    }
    if (const graphs::StagedSchedule* staged = run.stepper.staged()) {
        const auto request = staged->measure_request();
        if (request && request->measure == graphs::Measure::step_time &&
            run.placement.ranks < run.placement.replicas) {
            out.push_back(
                "/graph: replicas of one rank count as equally fast, because the time of "
                "a step is measured per rank; of equally fast ones, those with the "
                "lowest numbers exchange (one rank per replica would distinguish them)");
        }
        for (const auto& text : staged->warnings()) out.push_back(text);
        if (staged->measure_request() && !staged->measures_before(run.plan.iterations)) {
            out.push_back("/graph/every: nothing is measured in " +
                          std::to_string(run.plan.iterations) +
                          " iterations, so the graph never changes");
        }
    }
    return out;
}

}  // namespace dbench::train
