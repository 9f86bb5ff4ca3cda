#pragma once
// Writes one round's mixing matrix as text, for `dbench graph --matrix`, `--edges` and `--dot`.

#include <iosfwd>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// Prints W of `round` row by row: n lines of n numbers, with all their digits.
void print_matrix(std::ostream& out, const Schedule& schedule, Round round);

/// Prints lines "to from weight", sorted by to and from, including self: W[to][from] = weight.
void print_edges(std::ostream& out, const Schedule& schedule, Round round);

/// Prints the round's links for Graphviz: an undirected graph if W is symmetric, otherwise a
/// digraph whose arrows point from sender to receiver. Labels show the weights.
void print_dot(std::ostream& out, const Schedule& schedule, Round round, const std::string& name);

}  // namespace dbench::graphs
