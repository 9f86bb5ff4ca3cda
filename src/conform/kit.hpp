#pragma once
// What conformance measures of one subject on one graph; conform.cpp says what it may come to.
// Internal to this room.

#include <optional>
#include <string>

#include "conform/conform.hpp"
#include "conform/problem.hpp"
#include "conform/trial.hpp"

namespace dbench::conform {

/// Largest differences from the reference over all iterations, relative; infinite where the
/// subject runs away though its recursion is stable on the graph.
struct Difference {
    double parameters = 0;
    double recorded = 0;   ///< of norms, update norms, variance and bytes
    double amplified = 1;  ///< by which rounding errors grow more than in others
};

class Kit {
public:
    Kit(comm::World& world, const Subject& subject, const base::Json& graph,
        const Options& options);

    /// From the reference of the subject, or of `reference_of`, on any graph, trained in `type`;
    /// empty where there is none.
    std::optional<Difference> reference(const Problem& problem, const base::Json& graph,
                                        const base::Json* reference_of, arena::DType type);
    /// From the recursion of the mean over replicas, by the gradients as drawn.
    double mean_recursion(const Problem& problem) { return mean_recursion(problem, graph_); }
    double mean_recursion(const Problem& problem, const base::Json& graph);
    /// Of push-sum's weights, with those in flight, from one for each replica.
    double mass(const Problem& problem, const base::Json& graph);
    /// Of the tracker's mean from that of the gradients.
    double tracker(const Problem& problem);
    /// How often a restart from the state table does not continue bitwise: 0 or 1.
    double restart(const Problem& problem);
    /// Of replicas under other names from the same under their own.
    double relabelled(const Problem& problem);
    /// With one replica: from the plain optimizer's path.
    double alone(const Problem& problem);
    /// Largest distance of a replica from the minimiser after many steps of rate lr.
    double error(const Problem& problem, double lr, int64_t iterations);
    /// Largest distance of a replica from the minimiser after one exchange on the complete graph
    /// that the local minimisers, so many steps of distillation in it.
    double distilled(const Problem& problem, int64_t steps);
    /// Mean squared distance of the replicas' mean from the minimiser under noise, homogeneous
    /// data.
    double noisy_error(int64_t replicas);

    /// Momentum makes steps 1 / (1 - beta) as long.
    double rate_factor() const;
    /// Whether it treats all replicas alike.
    bool can_be_relabelled() const;

private:
    std::function<double(int64_t)> rate() const;
    Training training(int64_t iterations) const;
    /// What running away on a graph counts as.
    double ran_away(double so_far, const base::Json& graph) const;

    comm::World& world_;
    const Subject& subject_;
    base::Json graph_;
    const Options& options_;
    int64_t compared_;
};

}  // namespace dbench::conform
