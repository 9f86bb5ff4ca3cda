#pragma once
// Matchings: rounds in which replicas average in disjoint pairs.

#include <functional>

#include "base/random.hpp"
#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Returns the matrix of a matching: partner[i] = j and partner[j] = i, or partner[i] = i for an
/// idle replica. Each pair's edge has weight `weight`. O(n) memory.
MatrixPtr matching_matrix(std::vector<int> partner, double weight = 0.5);

/// Returns the matrix of a matching given in closed form: partner(partner(i)) = i. O(1) memory.
MatrixPtr matching_matrix(int n, std::function<int(int)> partner, double weight = 0.5);

/// Draws `pairs` disjoint pairs of 0..n-1, each choice equally likely, and returns the partner of
/// each replica (itself if idle). Requires pairs <= n/2. O(n).
std::vector<int> random_partners(int n, int pairs, base::Random& random);

}  // namespace dbench::graphs
