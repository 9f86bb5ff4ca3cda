#pragma once
// Round sequences that average exactly after few rounds: hyper-hypercubes and Base-(k+1) graphs
// (Takezawa et al. 2023, arXiv 2305.11420).

#include <cstdint>
#include <vector>

namespace dbench::graphs {

/// An undirected edge of a symmetric W. Diagonal entries complete each row's sum to 1.
struct WeightedEdge {
    int a;
    int b;
    double weight;
};
using WeightedRound = std::vector<WeightedEdge>;

/// Returns true if all prime factors of n are at most k + 1.
bool smooth(int64_t n, int64_t k);

/// Returns the k-peer hyper-hypercube H_k on `nodes`. It averages exactly after its rounds, which
/// are the fewest possible (mixed radix with factors up to k + 1). Requires smooth(nodes.size(),
/// k).
std::vector<WeightedRound> hyper_hypercube(const std::vector<int>& nodes, int64_t k);

/// Returns the Simple Base-(k+1) graph on `nodes`. It averages exactly after its rounds, for any
/// number of nodes.
std::vector<WeightedRound> simple_base(const std::vector<int>& nodes, int64_t k);

/// Returns the Base-(k+1) graph on 0..n-1: H_k across blocks of Simple Base graphs, or one Simple
/// Base graph if that has fewer rounds. At most 2 log_{k+1} n + 2 rounds.
std::vector<WeightedRound> base_graph(int n, int64_t k);

}  // namespace dbench::graphs
