#pragma once
// The rows of the graph table, one function per graph, defined in the graph's own file.

#include <cmath>

#include "base/error.hpp"
#include "graphs/schedule.hpp"
#include "graphs/sequence.hpp"
#include "graphs/topology.hpp"
#include "graphs/weights.hpp"

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

/// n >= 1 in binary: ceil(log2 n), by integers.
int ceil_log2(int64_t n);

GraphEntry ring_entry();
GraphEntry torus_entry();
GraphEntry exponential_entry();
GraphEntry one_peer_exponential_entry();
GraphEntry complete_entry();
GraphEntry ring_lattice_entry();
GraphEntry star_entry();
GraphEntry erdos_renyi_entry();

/// Edges that others build on: cycle of n, all pairs, k neighbours on a circle (k even).
TopologyPtr ring_topology(int n);
TopologyPtr complete_topology(int n);
TopologyPtr ring_lattice_topology(int n, int64_t k);

}  // namespace dbench::graphs
