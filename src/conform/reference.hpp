#pragma once
// Dense references: each algorithm once more, as its paper has it, on n x P matrices in float64
// with W as a matrix. Written apart from the algorithms that train: no arena, no exchange, no code
// of theirs. What they make of x and their rows where all gradients are 0 is the algorithm's linear
// recursion, from which stability.hpp has its growth.

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "conform/problem.hpp"

namespace dbench::conform {

using Matrix = Eigen::MatrixXd;                                ///< a row per replica
using Weights = Eigen::SparseMatrix<double, Eigen::RowMajor>;  ///< W

/// What a run records of an iteration.
struct Recorded {
    Matrix before;    ///< parameters just before they are averaged; after the update where not
    Matrix update;    ///< lr d
    double rows = 0;  ///< sent by all replicas, as docs/numerics.md counts
    Matrix staleness = {};  ///< [iterations of a span, n], of asynchronous algorithms
};

/// One iteration, from x_t to x_{t+1}.
struct Iteration {
    int64_t t;
    double lr;
    /// W of the k-th round of the spec's graph (k = t where every iteration exchanges).
    std::function<Weights(int64_t k)> w;
    Weights mean;  ///< J / n: all entries 1 / n
    /// Row i: the gradient of f_i at row i of x, as iteration t draws it.
    std::function<Matrix(const Matrix& x)> gradient;
    Recorded* recorded = nullptr;  ///< where that is asked for
    /// Q of every row, as the iteration's message `part`; bytes of one, as a share of a row's.
    std::function<Matrix(const Matrix& v, int part)> compress = {};
    double message_share = 1;
    double weight_share = 1;  ///< 8 bytes, as a share of a number of the run
    /// Row i: the gradient at row i of `student` of D_i, see Problem::distillation.
    std::function<Matrix(const Matrix& student, const Matrix& teacher, double temperature)>
        distillation = {};
    /// The model of a replica around x, and its loss there, see Problem.
    std::function<Around(int64_t replica, const Eigen::VectorXd& x)> around = {};
    std::function<double(int64_t replica, const Eigen::VectorXd& x)> loss = {};
    /// Of asynchronous algorithms, whose step goes to the next barrier: iterations until then, and
    /// the learning rate of each.
    int64_t span = 1;
    std::function<double(int64_t t)> rate = {};

    /// What a reference tells of itself: the local update lr d; what it averages by W, sending so
    /// many rows over each link; what it has where it averages nothing.
    void updates(const Matrix& lr_d) const;
    void averages(const Matrix& before, const Weights& w, int rows = 1) const;
    void rests(const Matrix& x) const;
    void sends(double rows) const;
    void tells(const Weights& w) const;                ///< a compressed message over each link
    void tells(const Weights& w, double share) const;  ///< one of this share of a row
};

class Reference {
public:
    virtual ~Reference() = default;
    virtual void step(const Iteration& iteration, Matrix& x) = 0;

    /// What it keeps beside x from iteration to iteration, each of x's shape from iteration 0 on.
    /// At gradients of 0 a later iteration is linear in x and these together.
    virtual std::vector<Matrix*> rows() { return {}; }
    /// Iterations after which what it does repeats, beside the graph.
    virtual int64_t cycle() const { return 1; }
    /// Iterations of a step: more than one where replicas do not wait for each other meanwhile.
    virtual int64_t span() const { return 1; }
    /// Whether it acts on the replicas' rows one by one, not by W and the mean alone.
    virtual bool knows_replicas() const { return false; }
    /// By how much more than others it makes rounding errors grow over the iterations compared.
    virtual double amplifies() const { return 1; }
    /// Why it has no linear recursion of that kind; empty where it has one.
    virtual std::string not_linear() const { return ""; }
};

/// What some of them know of the run.
struct ReferenceContext {
    int64_t replicas, parameters;
    int64_t per_epoch = 1;                           ///< iterations
    double lr_max = 1;                               ///< largest learning rate of the run
    std::vector<std::vector<int64_t>> tensors = {};  ///< shape of each, where that matters
    uint64_t seed = 1;                               ///< of the noise of messages
};

/// The reference of a resolved spec's `algorithm` with its `optimizer` (both with all defaults
/// filled in); null where there is none.
std::unique_ptr<Reference> make_reference(const base::Json& algorithm, const base::Json& optimizer,
                                          const ReferenceContext& context);

}  // namespace dbench::conform
