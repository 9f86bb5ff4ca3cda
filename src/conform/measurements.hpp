#pragma once
// The measurements that conformance takes of one case on one graph; conform.cpp sets the limits for
// them. Internal to this module.

#include <optional>
#include <string>

#include "conform/check_setup.hpp"
#include "conform/conform.hpp"
#include "conform/problem.hpp"

namespace dbench::conform {

/// Largest relative differences from the reference over all iterations. They are infinite if the
/// case diverges although its recursion is stable on the graph.
struct Difference {
    double parameters = 0;
    double recorded = 0;   ///< Difference of norms, update norms, variance and bytes.
    double amplified = 1;  ///< Factor by which rounding errors grow more than in other algorithms.
};

/// Trains one case on one graph and measures it. Every function is collective and returns the
/// largest deviation over the compared iterations, unless stated otherwise.
class Measurements {
public:
    Measurements(comm::World& world, const ConformanceCase& tested, const base::Json& graph,
                 const Options& options);

    /// Returns the difference from the reference of the case, or of `reference_of` if not null, on
    /// `graph`, with training in `type`. Empty if there is no reference.
    std::optional<Difference> reference(const Problem& problem, const base::Json& graph,
                                        const base::Json* reference_of, arena::DType type);
    /// Returns the deviation of the replicas' mean from its recursion, computed from the gradients
    /// as drawn.
    double mean_recursion(const Problem& problem) { return mean_recursion(problem, graph_); }
    double mean_recursion(const Problem& problem, const base::Json& graph);
    /// Returns the deviation from 1 of the mean of push-sum's weights, including those in flight.
    double mass(const Problem& problem, const base::Json& graph);
    /// Returns the deviation of the tracker's mean from the mean of the gradients.
    double tracker(const Problem& problem);
    /// Returns 1 if a restart from the state table does not continue bitwise on the graph,
    /// otherwise 0.
    double restart(const Problem& problem, const base::Json& graph);
    /// Returns the difference between a run with permuted replicas and the plain run.
    double relabelled(const Problem& problem);
    /// Returns the difference between a run with one replica and the plain optimizer.
    double single_replica(const Problem& problem);
    /// Returns the largest distance of a replica from the minimiser after `iterations` steps at
    /// rate `lr`.
    double error(const Problem& problem, double lr, int64_t iterations);
    /// Returns the largest distance of a replica from the minimiser after local steps up to the
    /// local minimisers and one exchange on the complete graph with `steps` steps of distillation.
    double distilled(const Problem& problem, int64_t steps);
    /// Returns the mean squared distance of the replicas' mean from the minimiser, with noisy
    /// gradients and homogeneous data.
    double noisy_error(int64_t replicas);

    /// Returns 1 - beta for algorithms with momentum, whose steps are 1 / (1 - beta) times as long;
    /// otherwise 1.
    double rate_factor() const;
    /// True if the case treats all replicas alike.
    bool can_be_relabelled() const;

private:
    std::function<double(int64_t)> rate() const;
    TrainingSettings training(int64_t iterations) const;
    /// Returns the result for a run that diverged on `graph`: infinity, or `so_far` if the
    /// recursion is known to be unstable on that graph.
    double result_if_diverged(double so_far, const base::Json& graph) const;

    comm::World& world_;
    const ConformanceCase& tested_;
    base::Json graph_;
    const Options& options_;
    int64_t iterations_;
};

}  // namespace dbench::conform
