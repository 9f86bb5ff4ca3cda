#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "graphs/matrix/dense.hpp"
#include "graphs/matrix/weights.hpp"

namespace dbench::graphs {
namespace {

constexpr int kLaplacianWeightsDense = 1536;

// Returns the smallest nonzero and the largest eigenvalue of L.
std::pair<double, double> ends(const TopologyPtr& topology, const std::string& pointer) {
    const int n = topology->size();
    if (const auto closed = topology->laplacian()) {
        double least = closed->values[1].real();
        double most = least;
        for (int k = 2; k < n; ++k) {
            least = std::min(least, closed->values[k].real());
            most = std::max(most, closed->values[k].real());
        }
        return {least, most};
    }
    if (n > kLaplacianWeightsDense) {
        throw base::UserError(pointer +
                              ": laplacian weights need the graph's eigenvalues, which are "
                              "computed up to " +
                              std::to_string(kLaplacianWeightsDense) + " replicas (there are " +
                              std::to_string(n) + "): use metropolis");
    }
    Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        laplacian(i, i) = topology->degree(i);
        for (const int j : topology->to(i)) laplacian(i, j) = -1;
    }
    const Eigen::VectorXd values = symmetric_eigenvalues(laplacian);
    return {values(1), values(n - 1)};
}

}  // namespace

MatrixPtr laplacian_weights(TopologyPtr topology, const std::string& pointer) {
    const auto [least, most] = ends(topology, pointer);
    return constant_weights(std::move(topology), 2.0 / (least + most));
}

}  // namespace dbench::graphs
