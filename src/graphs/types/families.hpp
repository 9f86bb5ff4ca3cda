#pragma once
// Helpers shared by the files of graphs/types/, each of which defines rows of the graph table.

#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "graphs/matrix/topology.hpp"
#include "graphs/matrix/weights.hpp"
#include "graphs/schedule.hpp"
#include "graphs/schedules/sequence.hpp"

namespace dbench::graphs {

/// Builds a static graph on these edges with the spec's `weights` and `lazy`.
std::unique_ptr<Schedule> weighted_graph(const TopologyPtr& topology, const WeightSpec& spec,
                                         const std::string& pointer);

/// Returns `entry` marked as a graph that depends on the run.
GraphEntry mark_run_dependent(GraphEntry entry);

/// Returns ceil(log2 n) for n >= 1, in integer arithmetic.
int ceil_log2(int64_t n);

/// Returns the largest divisor of n not above sqrt(n): the number of rows of the 2-D graphs.
int near_square_divisor(int n);

/// Throws UserError: graph `name` is not defined for n, because of `reason`. The message names the
/// nearest smaller and larger n for which `admits` is true.
[[noreturn]] void refuse_size(const std::string& name, const std::string& reason, int n,
                              const std::function<bool(int64_t)>& admits,
                              const std::string& pointer);

/// Applies the spec's `lazy` to `matrix`.
MatrixPtr apply_lazy(MatrixPtr matrix, const LazySpec& spec);

/// Throws UserError if `k`, a graph's number of neighbours, is odd.
void require_even(int64_t k, const std::string& pointer);

/// Returns the sum of squares of a row with `degree` links of weight `weight` and the rest on
/// itself.
double sum_of_squares(double weight, int degree);

/// Returns sqrt(||E[W'W] - J/n||) of a random doubly stochastic W whose distribution is invariant
/// under relabelling. `row_squares` is the mean over replicas of their row's sum of squares, a:
/// E[W'W] has a on the diagonal and equal values elsewhere, so the norm is (n a - 1)/(n - 1).
double exchangeable_rho(int n, double row_squares);

/// Edges that several graphs share: the cycle of n, all pairs, k neighbours on a circle (k even).
TopologyPtr ring_topology(int n);
TopologyPtr complete_topology(int n);
TopologyPtr ring_lattice_topology(int n, int64_t k);

}  // namespace dbench::graphs
