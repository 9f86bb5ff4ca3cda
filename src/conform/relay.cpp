// Reference of RelaySGD (2110.04175), written without messages: on a tree, the data of replica j
// reach replica i exactly once, d(i, j) - 1 iterations late (0 for neighbours and for itself).

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "conform/families.hpp"

namespace dbench::conform {
namespace {

/// Returns the number of edges between any two replicas of the tree whose edges are the nonzero
/// off-diagonal entries of W.
Eigen::MatrixXi tree_distances(const Matrix& w) {
    const Eigen::Index n = w.rows();
    const auto far = static_cast<int>(n);
    Eigen::MatrixXi d = Eigen::MatrixXi::Constant(n, n, far);
    Eigen::Index edges = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
        d(i, i) = 0;
        for (Eigen::Index j = 0; j < n; ++j) {
            if (i == j || w(i, j) == 0) continue;
            d(i, j) = 1;
            ++edges;
        }
    }
    for (Eigen::Index k = 0; k < n; ++k) {  // Floyd and Warshall
        for (Eigen::Index i = 0; i < n; ++i) {
            for (Eigen::Index j = 0; j < n; ++j) d(i, j) = std::min(d(i, j), d(i, k) + d(k, j));
        }
    }
    if (edges != 2 * (n - 1) || d.maxCoeff() >= far) {
        throw base::UserError("the reference of relaysgd needs a tree (W has other edges)");
    }
    return d;
}

/// With u_i = -lr d_i and the delay tau = max(0, d(i, j) - 1) of j at i; sums are over the j that
/// have arrived (tau <= t):
/// model: h = x + u;  x_i+ = 1/n (sum_j h_j(t - tau) + (number not arrived) h_i(t)), or x_i(0) in
///        place of h_i(t) with missing start
/// grad:  x_i+ = x_i + 1/n sum_j u_j(t - tau)
class RelaySgd : public Reference {
public:
    explicit RelaySgd(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          model_(parts.algorithm.at("form") == "model"),
          start_counts_(parts.algorithm.at("missing") == "start") {}

    void step(const Iteration& it, Matrix& x) override {
        if (distances_.size() == 0) {
            distances_ = tree_distances(Matrix(it.w(0)));
            first_ = x;
        }
        const Matrix u = -it.lr * optimizer_->direction_at(it, x);
        it.record_update(u);
        it.record_no_averaging(x + u);
        it.record_rows(2.0 * static_cast<double>(x.rows() - 1));  // both ways along each edge
        sent_.push_front(model_ ? Matrix(x + u) : u);
        if (std::ssize(sent_) > std::max(1, distances_.maxCoeff())) sent_.pop_back();

        const auto n = static_cast<double>(x.rows());
        for (Eigen::Index i = 0; i < x.rows(); ++i) {
            Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(x.cols());
            for (Eigen::Index j = 0; j < x.rows(); ++j) {
                const int delay = std::max(0, distances_(i, j) - 1);
                if (delay < std::ssize(sent_)) {
                    sum += sent_[static_cast<size_t>(delay)].row(j);
                } else if (model_) {
                    sum += start_counts_ ? first_.row(i) : sent_.front().row(i);
                }
            }
            if (model_) {
                x.row(i) = sum / n;
            } else {
                x.row(i) += sum / n;
            }
        }
    }

    std::string not_linear() const override {
        return "relays weighted means of earlier parameters, which cannot grow";
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    bool model_, start_counts_;
    Matrix first_;  ///< x of iteration 0.
    Eigen::MatrixXi distances_;
    std::deque<Matrix> sent_;  ///< Rows sent in the present iteration and before, newest first; one
                               ///< for each step of the diameter.
};

}  // namespace

std::unique_ptr<Reference> make_relaysgd(Parts parts) {
    return std::make_unique<RelaySgd>(std::move(parts));
}

}  // namespace dbench::conform
