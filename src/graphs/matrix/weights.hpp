#pragma once
// From edges to a mixing matrix: the rules that give every edge its weight.

#include <string>

#include "base/family.hpp"
#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// W = I - epsilon L: every edge weighs epsilon, the rest stays on the diagonal.
MatrixPtr constant_weights(TopologyPtr topology, double epsilon);

/// Row i shares equally among itself and those it hears from, 1/(d_i + 1): row stochastic, doubly
/// stochastic on regular graphs.
MatrixPtr uniform_weights(TopologyPtr topology);

/// w_ij = 1 / (1 + max(d_i, d_j)) (Metropolis-Hastings; Xiao and Boyd 2004): symmetric and doubly
/// stochastic on every undirected graph.
MatrixPtr metropolis_weights(TopologyPtr topology);

/// w_ij = 1/(dout_j + 1): every sender shares equally, column stochastic (push-sum).
MatrixPtr column_weights(TopologyPtr topology);

/// W = I - epsilon L with the best constant, epsilon = 2/(lambda_1(L) + lambda_{n-1}(L)) (Xiao and
/// Boyd 2004); the diagonal may come out negative. Undirected. Throws UserError at `pointer` where
/// the eigenvalues are not resolved.
MatrixPtr laplacian_weights(TopologyPtr topology, const std::string& pointer);

/// The symmetric W >= 0 on these edges with the smallest rho (Boyd, Diaconis and Xiao 2004), to
/// 1e-9 of the optimum. Undirected. Throws UserError at `pointer` for more than 256 replicas or
/// 1024 edges.
MatrixPtr fastest_weights(TopologyPtr topology, const std::string& pointer);

/// The keys `weights` and `lazy`, with which every static graph ends its table row.
std::vector<base::Parameter> weight_parameters();
base::Parameter lazy_parameter();

/// The matrix that a resolved spec object's `weights` and `lazy` ask for. Throws UserError where
/// the rule does not suit the graph.
MatrixPtr weighted(const TopologyPtr& topology, const base::Json& spec, const std::string& pointer);

}  // namespace dbench::graphs
