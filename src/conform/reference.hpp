#pragma once
// Dense references: a second implementation of each algorithm, written from its paper, on n x P
// matrices in float64 with W as a matrix. They are independent of the production code: no arena, no
// exchange, no shared algorithm code. With all gradients 0, a reference computes the algorithm's
// linear recursion, whose growth stability.hpp computes.

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "conform/problem.hpp"

namespace dbench::conform {

using Matrix = Eigen::MatrixXd;                                ///< One row per replica.
using Weights = Eigen::SparseMatrix<double, Eigen::RowMajor>;  ///< W.

/// The quantities that a run records in an iteration.
struct RecordedIteration {
    Matrix before;          ///< Parameters just before averaging; after the update if not averaged.
    Matrix update;          ///< lr d.
    double rows = 0;        ///< Rows sent by all replicas, counted as in docs/numerics.md.
    Matrix staleness = {};  ///< [iterations of a span, n], for asynchronous algorithms.
};

/// The inputs of one iteration, which leads from x_t to x_{t+1}.
struct Iteration {
    int64_t t;
    double lr;
    /// Returns W of the k-th round of the spec's graph (k = t if every iteration exchanges).
    std::function<Weights(int64_t k)> w;
    Weights mean;  ///< J / n: all entries are 1 / n.
    /// Returns the gradients; row i is the gradient of f_i at row i of x, as iteration t draws it.
    std::function<Matrix(const Matrix& x)> gradient;
    RecordedIteration* recorded = nullptr;  ///< Receives the record; null if none is needed.
    /// Returns Q of every row, as the iteration's message `part`. `message_share` is the bytes of
    /// one message divided by the bytes of a row.
    std::function<Matrix(const Matrix& v, int part)> compress = {};
    double message_share = 1;
    double weight_share = 1;  ///< 8 bytes divided by the bytes of one number of the run.
    /// Returns the gradients of distillation; row i is the gradient at row i of `student` of D_i,
    /// see Problem::distillation.
    std::function<Matrix(const Matrix& student, const Matrix& teacher, double temperature)>
        distillation = {};
    /// Return the model of a replica at x, and its loss there, see Problem.
    std::function<Around(int64_t replica, const Eigen::VectorXd& x)> around = {};
    std::function<double(int64_t replica, const Eigen::VectorXd& x)> loss = {};
    /// For asynchronous algorithms, whose step ends at the next barrier: the number of iterations
    /// of the step, and the learning rate of each.
    int64_t span = 1;
    std::function<double(int64_t t)> rate = {};

    /// Functions with which a reference records: the local update lr d; an averaging by W that
    /// sends `rows` rows over each link; an iteration without averaging; and rows sent otherwise.
    void record_update(const Matrix& lr_d) const;
    void record_averaging(const Matrix& before, const Weights& w, int rows = 1) const;
    void record_no_averaging(const Matrix& x) const;
    void record_rows(double rows) const;
    /// Records a compressed message over each link.
    void record_messages(const Weights& w) const;
    /// Records a message over each link with this share of a row's bytes.
    void record_messages(const Weights& w, double share) const;
};

/// One algorithm's reference implementation.
class Reference {
public:
    virtual ~Reference() = default;
    /// Advances x by one step, in place.
    virtual void step(const Iteration& iteration, Matrix& x) = 0;

    /// The rows that the reference keeps in addition to x, each of x's shape from iteration 0 on.
    /// With gradients 0, later iterations are linear in x and these rows together.
    virtual std::vector<Matrix*> rows() { return {}; }
    /// Number of iterations after which the algorithm's behaviour repeats, apart from the graph.
    virtual int64_t cycle() const { return 1; }
    /// Iterations of a step; more than one if replicas do not wait for each other within a step.
    virtual int64_t span() const { return 1; }
    /// True if it acts on the rows of individual replicas, and not only through W and the mean.
    virtual bool distinguishes_replicas() const { return false; }
    /// Factor by which it amplifies rounding errors more than other algorithms do.
    virtual double amplification() const { return 1; }
    /// The reason why it has no linear recursion in x and its rows; empty if it has one.
    virtual std::string not_linear() const { return ""; }
};

/// Facts about the run that some references need.
struct ReferenceContext {
    int64_t replicas, parameters;
    int64_t per_epoch = 1;                           ///< Iterations per epoch.
    double lr_max = 1;                               ///< Largest learning rate of the run.
    std::vector<std::vector<int64_t>> tensors = {};  ///< Shape of each tensor, if needed.
    uint64_t seed = 1;                               ///< Seed of the noise in messages.
};

/// Builds the reference of a resolved spec's `algorithm` with its `optimizer` (both with all
/// defaults filled in). Returns null if there is none.
std::unique_ptr<Reference> make_reference(const base::Json& algorithm, const base::Json& optimizer,
                                          const ReferenceContext& context);

}  // namespace dbench::conform
