#pragma once
// The compatibility rules, by subject. A rule is a function that finds a problem in the facts, and
// a row in the table at the end of its file.

#include <optional>
#include <vector>

#include "algorithms/compatibility.hpp"

namespace dbench::algorithms {

using Finding = std::optional<Problem>;

/// Return the rules about one subject, in the order in which their problems are reported.
std::vector<Rule> rank_rules();
std::vector<Rule> spec_rules();
std::vector<Rule> graph_rules();
std::vector<Rule> pass_rules();
std::vector<Rule> resume_rules();
std::vector<Rule> schedule_rules();

/// True if the sums of the rows and columns of W are those that the algorithm requires.
bool sums_suit(const Traits& traits, const MatrixFacts& matrix);

}  // namespace dbench::algorithms
