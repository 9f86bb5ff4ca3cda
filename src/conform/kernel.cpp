// Reference of NTK-DFL, whose update uses the kernel of the Jacobians that replicas send each
// other.

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "conform/families.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {
namespace {

/// The data that a replica has gathered: for each output the Jacobian's rows of all samples [N, P].
struct Gathered {
    std::vector<Matrix> jacobian;
    Matrix f, y, kernel;  ///< kernel: sum over outputs of J J', divided by their number.
    bool classes;

    Matrix residual(const Matrix& at) const {
        if (!classes) return at - y;
        Matrix p = at.array().exp();
        for (Eigen::Index s = 0; s < p.rows(); ++s) p.row(s) /= p.row(s).sum();
        return p - y;
    }
    Matrix change(const Matrix& at) const {
        return -(kernel * residual(at)) / double(kernel.rows());
    }
};

Gathered gathered(const Iteration& it, const std::vector<int64_t>& members,
                  const Eigen::VectorXd& at) {
    Gathered all;
    for (const int64_t j : members) {
        const Around part = it.around(j, at);
        const auto below = [](const Matrix& above, const Matrix& more) {
            Matrix both(above.rows() + more.rows(), more.cols());
            if (above.rows() > 0) both.topRows(above.rows()) = above;
            both.bottomRows(more.rows()) = more;
            return both;
        };
        all.classes = part.classes;
        all.jacobian.resize(part.jacobian.size());
        for (size_t c = 0; c < part.jacobian.size(); ++c) {
            all.jacobian[c] = below(all.jacobian[c], part.jacobian[c]);
        }
        all.f = below(all.f, part.f);
        all.y = below(all.y, part.y);
    }
    all.kernel = Matrix::Zero(all.f.rows(), all.f.rows());
    for (const Matrix& j : all.jacobian) all.kernel += j * j.transpose();
    all.kernel /= double(all.jacobian.size());
    return all;
}

/// NTK-DFL (2410.01922): wb = W x. Replica i gathers the models at wb_i of itself and of all j with
/// w_ij != 0. Their outputs f evolve by one kernel; x_i <- wb_i - lr (1 / N) sum_c J_c' sum_{u <
/// tau} r(f_u)_c, where tau is the candidate with the least sum of losses over these replicas;
/// the neighbours of i send their losses.
class NtkDfl : public Reference {
public:
    explicit NtkDfl(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          steps_(parts.algorithm.at("steps")),
          candidates_(parts.algorithm.at("candidates")) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        it.record_averaging(x, w);
        x = w * x;
        Matrix next = x;
        for (Eigen::Index i = 0; i < x.rows(); ++i) next.row(i) = moved(it, w, x, i).transpose();
        it.record_update(x - next);
        x = next;
    }

private:
    Eigen::VectorXd moved(const Iteration& it, const Weights& w, const Matrix& wb,
                          Eigen::Index i) const {
        std::vector<int64_t> members;
        for (Weights::InnerIterator entry(w, i); entry; ++entry) {
            if (entry.col() != i && entry.value() != 0) members.push_back(entry.col());
        }
        const auto links = double(members.size());
        members.push_back(i);
        const Eigen::VectorXd start = wb.row(i);
        const Gathered all = gathered(it, members, start);
        const auto p = double(wb.cols());
        const auto block = double(all.f.size()) / double(members.size()) * (p + 2);
        it.record_rows(links * (1 + block / p));
        if (candidates_ > 1)
            it.record_rows(links * double(candidates_) * (1 + it.weight_share / p));

        Matrix f = all.f, sum = Matrix::Zero(f.rows(), f.cols());
        Eigen::VectorXd best = start;
        double least = std::numeric_limits<double>::infinity();
        for (int64_t u = 1; u <= steps_; ++u) {
            sum += all.residual(f);
            const Matrix a = all.change(f), b = all.change(f + it.lr / 2 * a);
            const Matrix c = all.change(f + it.lr / 2 * b), d = all.change(f + it.lr * c);
            f += it.lr / 6 * (a + 2 * b + 2 * c + d);
            if (u % (steps_ / candidates_) != 0) continue;
            Matrix g = Matrix::Zero(1, wb.cols());
            for (size_t k = 0; k < all.jacobian.size(); ++k) {
                g += (all.jacobian[k].transpose() * sum.col(Eigen::Index(k))).transpose();
            }
            g /= double(f.rows());
            const Eigen::VectorXd candidate =
                start - it.lr * optimizer_->direction(wb.row(i), g).row(0).transpose();
            double loss = 0;
            for (const int64_t j : members) loss += candidates_ > 1 ? it.loss(j, candidate) : 0;
            if (loss >= least) continue;
            least = loss;
            best = candidate;
        }
        return best;
    }

    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t steps_, candidates_;
};

}  // namespace

std::unique_ptr<Reference> make_ntk_dfl(Parts parts) {
    return std::make_unique<NtkDfl>(std::move(parts));
}

}  // namespace dbench::conform
