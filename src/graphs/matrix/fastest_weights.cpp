#include <Eigen/Cholesky>
#include <cmath>

#include "base/error.hpp"
#include "graphs/matrix/dense.hpp"
#include "graphs/matrix/weights.hpp"

namespace dbench::graphs {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kFastestWeightsMostReplicas = 256;
constexpr size_t kMostEdges = 1024;
constexpr double kFastestWeightsTolerance = 1e-9;  // most that rho may exceed the optimum

// Solves: minimise s subject to -s I <= W - J/n <= s I, W = I - sum_e w_e u_e u_e', w >= 0, W_ii >=
// 0 (Boyd, Diaconis and Xiao 2004, eq. 9), by Newton's method on the logarithmic barrier. With
// barrier parameter t the result is within (3n + m)/t of the optimum.
class Barrier {
public:
    Barrier(int n, std::vector<Edge> edges) : n_(n), edges_(std::move(edges)) {}

    VectorXd solve(const VectorXd& w) {
        const auto m = static_cast<double>(edges_.size());
        VectorXd x(w.size() + 1);
        x << w, symmetric_eigenvalues(deviation(w)).cwiseAbs().maxCoeff() + 0.1;
        for (double t = 10; (3 * n_ + m) / t > kFastestWeightsTolerance; t *= 8) centre(x, t);
        return x.head(w.size());
    }

private:
    MatrixXd deviation(const VectorXd& w) const {
        MatrixXd d = MatrixXd::Identity(n_, n_).array() - 1.0 / n_;
        for (size_t e = 0; e < edges_.size(); ++e) {
            const auto [i, j] = edges_[e];
            d(i, i) -= w(e);
            d(j, j) -= w(e);
            d(i, j) += w(e);
            d(j, i) += w(e);
        }
        return d;
    }
    VectorXd rest(const VectorXd& w) const {
        VectorXd r = VectorXd::Ones(n_);
        for (size_t e = 0; e < edges_.size(); ++e) {
            r(edges_[e].first) -= w(e);
            r(edges_[e].second) -= w(e);
        }
        return r;
    }
    // Returns u_a' S u_b for all pairs of edges.
    MatrixXd between(const MatrixXd& s) const {
        const auto m = static_cast<Eigen::Index>(edges_.size());
        MatrixXd half(n_, m);
        for (Eigen::Index e = 0; e < m; ++e) {
            half.col(e) = s.col(edges_[e].first) - s.col(edges_[e].second);
        }
        MatrixXd out(m, m);
        for (Eigen::Index e = 0; e < m; ++e) {
            out.row(e) = half.row(edges_[e].first) - half.row(edges_[e].second);
        }
        return out;
    }

    // Returns the barrier's value; infinity outside its domain.
    double value(const VectorXd& x, double t) const {
        const VectorXd w = x.head(x.size() - 1);
        const double s = x(x.size() - 1);
        const VectorXd r = rest(w);
        if (w.minCoeff() <= 0 || r.minCoeff() <= 0) return INFINITY;
        double sum = t * s - w.array().log().sum() - r.array().log().sum();
        const MatrixXd d = deviation(w);
        for (const double sign : {-1.0, 1.0}) {
            Eigen::LLT<MatrixXd> factor(s * MatrixXd::Identity(n_, n_) + sign * d);
            if (factor.info() != Eigen::Success) return INFINITY;
            sum -= 2 * factor.matrixLLT().diagonal().array().log().sum();
        }
        return sum;
    }

    void centre(VectorXd& x, double t) const {
        const auto m = static_cast<Eigen::Index>(edges_.size());
        const MatrixXd identity = MatrixXd::Identity(n_, n_);
        for (int step = 0; step < 60; ++step) {
            const VectorXd w = x.head(m);
            const MatrixXd d = deviation(w);
            const VectorXd r = rest(w);
            const MatrixXd a = (x(m) * identity - d).llt().solve(identity);
            const MatrixXd b = (x(m) * identity + d).llt().solve(identity);
            const MatrixXd ua = between(a);
            const MatrixXd ub = between(b);
            VectorXd gradient(m + 1);
            MatrixXd hessian(m + 1, m + 1);
            hessian.topLeftCorner(m, m) = ua.cwiseAbs2() + ub.cwiseAbs2();
            const MatrixXd a2 = a * a;
            const MatrixXd b2 = b * b;
            for (Eigen::Index e = 0; e < m; ++e) {
                const auto [i, j] = edges_[e];
                gradient(e) = ub(e, e) - ua(e, e) - 1 / w(e) + 1 / r(i) + 1 / r(j);
                hessian(e, e) += 1 / (w(e) * w(e));
                const double cross =
                    (a2(i, i) + a2(j, j) - 2 * a2(i, j)) - (b2(i, i) + b2(j, j) - 2 * b2(i, j));
                hessian(e, m) = hessian(m, e) = cross;
            }
            for (Eigen::Index e = 0; e < m; ++e) {
                for (Eigen::Index f = 0; f < m; ++f) {
                    for (const int i : {edges_[e].first, edges_[e].second}) {
                        if (i == edges_[f].first || i == edges_[f].second) {
                            hessian(e, f) += 1 / (r(i) * r(i));
                        }
                    }
                }
            }
            gradient(m) = t - a.trace() - b.trace();
            hessian(m, m) = a2.trace() + b2.trace();
            const VectorXd newton = hessian.ldlt().solve(-gradient);
            const double slope = gradient.dot(newton);
            if (!(slope < -1e-8)) return;
            double length = 1;
            const double before = value(x, t);
            while (value(x + length * newton, t) > before + 0.1 * length * slope) {
                length /= 2;
                if (length < 1e-12) return;  // limit of double precision
            }
            x += length * newton;
        }
    }

    int n_;
    std::vector<Edge> edges_;
};

}  // namespace

MatrixPtr fastest_weights(TopologyPtr topology, const std::string& pointer) {
    const int n = topology->size();
    std::vector<Edge> edges;
    VectorXd start(0);
    if (n <= kFastestWeightsMostReplicas) {
        std::vector<double> weights;
        for (int i = 0; i < n; ++i) {
            for (const int j : topology->to(i)) {
                if (i > j) continue;
                edges.emplace_back(i, j);
                weights.push_back(0.9 / (1 + std::max(topology->degree(i), topology->degree(j))));
            }
        }
        start = Eigen::Map<VectorXd>(weights.data(), static_cast<Eigen::Index>(weights.size()));
    }
    if (n > kFastestWeightsMostReplicas || edges.size() > kMostEdges) {
        throw base::UserError(pointer + ": fastest weights are computed up to " +
                              std::to_string(kFastestWeightsMostReplicas) + " replicas and " +
                              std::to_string(kMostEdges) + " edges: use metropolis or laplacian");
    }
    const VectorXd w = Barrier(n, edges).solve(start);
    std::vector<MatrixEntry> entries;
    std::vector<double> rest(n, 1.0);
    for (size_t e = 0; e < edges.size(); ++e) {
        const auto [i, j] = edges[e];
        entries.push_back({i, j, w(e)});
        entries.push_back({j, i, w(e)});
        rest[i] -= w(e);
        rest[j] -= w(e);
    }
    for (int i = 0; i < n; ++i) entries.push_back({i, i, rest[i]});
    return explicit_matrix(n, std::move(entries));
}

}  // namespace dbench::graphs
