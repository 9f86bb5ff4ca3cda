#pragma once
// One round's matrix as text.

#include <iosfwd>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// W of `round` row by row: n lines of n numbers, with all their digits.
void print_matrix(std::ostream& out, const Schedule& schedule, Round round);

/// Lines "to from weight", ordered by to and from, self included: W[to][from] = weight.
void print_edges(std::ostream& out, const Schedule& schedule, Round round);

/// The round's links for Graphviz: a graph where W is symmetric, else a digraph whose arrows go the
/// way parameters do; weights are labels.
void print_dot(std::ostream& out, const Schedule& schedule, Round round, const std::string& name);

}  // namespace dbench::graphs
