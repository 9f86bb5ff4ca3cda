#pragma once
// Sequences that average exactly after a few rounds: hyper-hypercubes and Base-(k+1) graphs
// (Takezawa et al. 2023, arXiv 2305.11420).

#include <cstdint>
#include <vector>

namespace dbench::graphs {

/// An undirected edge of a symmetric W; the diagonal is what its row leaves.
struct WeightedEdge {
    int a;
    int b;
    double weight;
};
using WeightedRound = std::vector<WeightedEdge>;

/// Whether all prime factors of n are at most k + 1.
bool smooth(int64_t n, int64_t k);

/// The k-peer hyper-hypercube H_k on `nodes`: exact after its rounds, the fewest possible (mixed
/// radix with factors up to k + 1). Needs smooth(nodes, k).
std::vector<WeightedRound> hyper_hypercube(const std::vector<int>& nodes, int64_t k);

/// Simple Base-(k+1) graph on `nodes`: exact after its rounds, for any number of nodes.
std::vector<WeightedRound> simple_base(const std::vector<int>& nodes, int64_t k);

/// Base-(k+1) graph on 0..n-1: H_k across blocks of Simple Base graphs, or Simple Base where that
/// is shorter; at most 2 log_{k+1} n + 2 rounds.
std::vector<WeightedRound> base_graph(int n, int64_t k);

}  // namespace dbench::graphs
