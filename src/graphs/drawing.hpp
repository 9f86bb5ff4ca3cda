#pragma once
// One round's matrix as text.

#include <iosfwd>

#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// W of `round` row by row: n lines of n numbers, with all their digits.
void print_matrix(std::ostream& out, const Schedule& schedule, Round round);

/// Lines "to from weight", ordered by to and from, self included: W[to][from] = weight.
void print_edges(std::ostream& out, const Schedule& schedule, Round round);

}  // namespace dbench::graphs
