#pragma once
// Random regular graphs.

#include "base/random.hpp"
#include "graphs/matrix/topology.hpp"

namespace dbench::graphs {

/// Draws a random d-regular graph on n replicas: stubs are paired at random, pairs that would be
/// loops or double edges are put back, and the draw restarts when no valid pair is left (Steger and
/// Wormald 1999). Requires n d even and 0 <= d < n. O(n min(d, n-d)) expected time; the same edges
/// on every rank.
std::vector<Edge> random_regular(int n, int degree, base::Random& random);

}  // namespace dbench::graphs
