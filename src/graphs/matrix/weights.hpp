#pragma once
// Rules that turn the edges of a topology into a mixing matrix (the spec keys `weights` and
// `lazy`).

#include <string>

#include "base/section.hpp"
#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// W = I - epsilon L: every edge has weight epsilon; the diagonal makes each row sum to 1.
MatrixPtr constant_weights(TopologyPtr topology, double epsilon);

/// Row i gives weight 1/(d_i + 1) to itself and to each replica it receives from. The result is row
/// stochastic, and doubly stochastic on regular graphs.
MatrixPtr uniform_weights(TopologyPtr topology);

/// w_ij = 1 / (1 + max(d_i, d_j)) (Metropolis-Hastings; Xiao and Boyd 2004): symmetric and doubly
/// stochastic on every undirected graph.
MatrixPtr metropolis_weights(TopologyPtr topology);

/// w_ij = 1/(dout_j + 1): every sender shares equally. The result is column stochastic (for
/// push-sum).
MatrixPtr column_weights(TopologyPtr topology);

/// W = I - epsilon L with the best constant, epsilon = 2/(lambda_1(L) + lambda_{n-1}(L)) (Xiao and
/// Boyd 2004). Diagonal entries may be negative. The graph must be undirected. Throws UserError at
/// `pointer` if the eigenvalues cannot be resolved.
MatrixPtr laplacian_weights(TopologyPtr topology, const std::string& pointer);

/// The symmetric W >= 0 on these edges with the smallest rho (Boyd, Diaconis and Xiao 2004), to
/// 1e-9 of the optimum. The graph must be undirected. Throws UserError at `pointer` for more than
/// 256 replicas or 1024 edges.
MatrixPtr fastest_weights(TopologyPtr topology, const std::string& pointer);

/// The key `lazy`.
struct LazySpec {
    double lazy;  ///< theta: W <- (1 - theta) I + theta W. 1 is not lazy.

    static const base::Section<LazySpec>& section();
};

/// The keys `weights` and `lazy`. Every static graph has these two keys, after its own.
struct WeightSpec : LazySpec {
    std::string weights;  ///< Name of the rule.

    static const base::Section<WeightSpec>& section();
};

/// Returns the matrix of `topology` for these keys. Throws UserError if the rule is not defined for
/// the graph.
MatrixPtr weighted(const TopologyPtr& topology, const WeightSpec& spec, const std::string& pointer);

}  // namespace dbench::graphs
