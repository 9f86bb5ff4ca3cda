#pragma once
// Matchings: rounds in which replicas average in pairs.

#include <functional>

#include "base/random.hpp"
#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// partner[i] = j and partner[j] = i, or partner[i] = i for an idle replica. A pair's edge weighs
/// `weight`. O(n) memory.
MatrixPtr matching_matrix(std::vector<int> partner, double weight = 0.5);

/// The same with partners in closed form: partner(partner(i)) = i. O(1) memory.
MatrixPtr matching_matrix(int n, std::function<int(int)> partner, double weight = 0.5);

/// `pairs` disjoint pairs of 0..n-1, every choice equally likely; pairs <= n/2. O(n).
std::vector<int> random_partners(int n, int pairs, base::Random& random);

}  // namespace dbench::graphs
