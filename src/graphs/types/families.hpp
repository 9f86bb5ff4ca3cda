#pragma once
// What the rows of the graph table share.

#include <cmath>
#include <functional>

#include "base/error.hpp"
#include "graphs/matrix/topology.hpp"
#include "graphs/matrix/weights.hpp"
#include "graphs/schedule.hpp"
#include "graphs/schedules/sequence.hpp"

namespace dbench::graphs {

using Make = std::unique_ptr<Schedule> (*)(const base::Json&, const GraphContext&,
                                           const std::string&);

GraphEntry graph_entry(std::string name, std::string help, std::vector<base::Parameter> parameters,
                       Make make);

/// `parameters` and, behind them, `weights` and `lazy`.
std::vector<base::Parameter> with_weights(std::vector<base::Parameter> parameters);

/// A static graph of these edges, weighted as the spec asks.
std::unique_ptr<Schedule> weighted_graph(const TopologyPtr& topology, const base::Json& spec,
                                         const std::string& pointer);

/// The row marked as one whose graph depends on the run.
GraphEntry for_runs(GraphEntry entry);

/// n >= 1 in binary: ceil(log2 n), by integers.
int ceil_log2(int64_t n);

/// The largest divisor of n not above sqrt(n): the rows of the 2-D graphs.
int near_square_divisor(int n);

/// Throws UserError: graph `name` has no n, for `reason`; names the nearest n below and above that
/// `admits`.
[[noreturn]] void refuse_size(const std::string& name, const std::string& reason, int n,
                              const std::function<bool(int64_t)>& admits,
                              const std::string& pointer);

/// The matrix under the spec's `lazy`.
MatrixPtr slowed(MatrixPtr matrix, const base::Json& spec);

/// The spec's `k`; throws UserError where it is odd.
int64_t even_neighbours(const base::Json& spec, const std::string& pointer);

/// Sum of squares of a row with `degree` links of `weight` and the rest on itself.
double squares(double weight, int degree);

/// sqrt(||E[W'W] - J/n||) of a doubly stochastic W whose distribution no relabelling changes, from
/// the mean over replicas of their row's sum of squares a: E[W'W] = a on the diagonal, equal values
/// elsewhere, hence (n a - 1)/(n - 1).
double exchangeable_rho(int n, double row_squares);

/// Edges that others build on: cycle of n, all pairs, k neighbours on a circle (k even).
TopologyPtr ring_topology(int n);
TopologyPtr complete_topology(int n);
TopologyPtr ring_lattice_topology(int n, int64_t k);

}  // namespace dbench::graphs
