#pragma once
// Random regular graphs.

#include "base/random.hpp"
#include "graphs/matrix/topology.hpp"

namespace dbench::graphs {

/// A random d-regular graph on n replicas: stubs are paired at random, loops and double edges put
/// back, all begun anew when that gets stuck (Steger and Wormald 1999). n d even, 0 <= d < n.
/// O(n min(d, n-d)) expected; the same edges on every rank.
std::vector<Edge> random_regular(int n, int degree, base::Random& random);

}  // namespace dbench::graphs
