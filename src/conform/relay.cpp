// Reference of RelaySGD (2110.04175), written without messages: on a tree, the data of replica j
// reach replica i exactly once, d(i, j) - 1 iterations late (0 for neighbours and for itself). On a
// repeating sequence of p trees, this holds for each of p parts of the parameters on its own tree.

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
        throw base::UserError("the reference of relaysgd needs trees (W has other edges)");
    }
    return d;
}

/// Returns the distances of each tree of the sequence w(0), w(1), ..., which repeats.
std::vector<Eigen::MatrixXi> distances_of_trees(const std::function<Weights(int64_t k)>& w) {
    constexpr int64_t kMost = 64;
    const Matrix first(w(0));
    std::vector<Eigen::MatrixXi> distances{tree_distances(first)};
    for (int64_t k = 1; k < kMost && Matrix(w(k)) != first; ++k) {
        distances.push_back(tree_distances(Matrix(w(k))));
    }
    return distances;
}

/// Returns the tree (0 .. trees - 1) of each parameter. The parameters are consecutive blocks: a
/// tensor's elements in blocks of 4096, of which the last may be smaller. A block belongs to the
/// tree in whose equal share of all parameters it begins; a block that begins exactly at the end of
/// a share belongs to the next one.
std::vector<int> tree_of_parameters(const std::vector<std::vector<int64_t>>& tensors,
                                    int64_t trees) {
    constexpr int64_t kBlock = 4096;
    int64_t all = 0;
    for (const auto& shape : tensors) all += elements(shape);
    std::vector<int> tree;
    for (const auto& shape : tensors) {
        const int64_t size = elements(shape);
        for (int64_t begin = 0; begin < size; begin += kBlock) {
            const int64_t before = std::ssize(tree);
            const auto owner = static_cast<int>(before * trees / all);
            tree.insert(tree.end(), static_cast<size_t>(std::min(kBlock, size - begin)), owner);
        }
    }
    return tree;
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
          start_counts_(parts.algorithm.at("missing") == "start"),
          tensors_(std::move(parts.context.tensors)) {}

    void step(const Iteration& it, Matrix& x) override {
        if (distances_.empty()) {
            distances_ = distances_of_trees(it.w);
            first_ = x;
            tree_ = tree_of_parameters(tensors_, std::ssize(distances_));
        }
        const Matrix u = -it.lr * optimizer_->direction_at(it, x);
        it.record_update(u);
        it.record_no_averaging(x + u);
        it.record_rows(2.0 * static_cast<double>(x.rows() - 1));  // both ways along each edge
        sent_.push_front(model_ ? Matrix(x + u) : u);
        if (std::ssize(sent_) > x.rows()) sent_.pop_back();  // no distance is longer

        const auto n = static_cast<double>(x.rows());
        for (Eigen::Index c = 0; c < x.cols(); ++c) {
            const Eigen::MatrixXi& distances = distances_[static_cast<size_t>(tree_of(c))];
            for (Eigen::Index i = 0; i < x.rows(); ++i) {
                double sum = 0;
                for (Eigen::Index j = 0; j < x.rows(); ++j) {
                    const int delay = std::max(0, distances(i, j) - 1);
                    if (delay < std::ssize(sent_)) {
                        sum += sent_[static_cast<size_t>(delay)](j, c);
                    } else if (model_) {
                        sum += start_counts_ ? first_(i, c) : sent_.front()(i, c);
                    }
                }
                x(i, c) = model_ ? sum / n : x(i, c) + sum / n;
            }
        }
    }

    std::string not_linear() const override {
        return "relays weighted means of earlier parameters, which cannot grow";
    }

private:
    int tree_of(Eigen::Index c) const {
        return distances_.size() == 1 ? 0 : tree_.at(static_cast<size_t>(c));
    }

    std::unique_ptr<LocalOptimizer> optimizer_;
    bool model_, start_counts_;
    std::vector<std::vector<int64_t>> tensors_;
    Matrix first_;                            ///< x of iteration 0.
    std::vector<Eigen::MatrixXi> distances_;  ///< By tree.
    std::vector<int> tree_;                   ///< By parameter.
    std::deque<Matrix> sent_;  ///< Rows sent in the present iteration and before, newest first; at
                               ///< most as many as replicas.
};

}  // namespace

std::unique_ptr<Reference> make_relaysgd(Parts parts) {
    return std::make_unique<RelaySgd>(std::move(parts));
}

}  // namespace dbench::conform
