#pragma once
// Problems with known gradients and minimisers, on which the conformance checks train.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

namespace dbench::conform {

/// A replica's model at x on its m samples: outputs f [m, C], their Jacobian, targets Y.
struct Around {
    std::vector<Eigen::MatrixXd> jacobian;  ///< One per output: [m, P].
    Eigen::MatrixXd f, y;
    bool classes;  ///< True: the loss is the cross-entropy of softmax f. False: half the squared
                   ///< difference.
};

/// minimise (1/n) sum_i f_i(x), x in R^P; f_i belongs to replica i.
class Problem {
public:
    virtual ~Problem() = default;
    virtual const char* name() const = 0;
    virtual int64_t parameters() const = 0;  ///< P
    virtual Eigen::VectorXd gradient(int64_t replica, const Eigen::VectorXd& x) const = 0;
    /// Returns the gradient at `student` of D_i, the distance of its outputs from those of
    /// `teacher` on the replica's data: half the squared difference, or for classes T^2 KL(softmax
    /// teacher / T || softmax student / T) with temperature T.
    virtual Eigen::VectorXd distillation(int64_t replica, const Eigen::VectorXd& student,
                                         const Eigen::VectorXd& teacher,
                                         double temperature) const = 0;
    /// Returns the model of `replica` at x.
    virtual Around around(int64_t replica, const Eigen::VectorXd& x) const = 0;
    /// Returns the mean over the samples of the loss that Around names, which is f_i without
    /// penalties.
    virtual double loss(int64_t replica, const Eigen::VectorXd& x) const = 0;
    virtual Eigen::VectorXd minimiser() const = 0;
};

/// f_i(x) = (x - b_i)' A_i (x - b_i) / 2. The eigenvalues of A_i are in [0.5, 1.5]; the b_i differ
/// by about `spread`. As a model it has P samples of one output; together the outputs are sqrt(P
/// A_i) x.
std::unique_ptr<Problem> quadratics(int64_t replicas, double spread, uint64_t seed);

/// Multinomial logistic regression with an L2 penalty on few generated samples. Every replica sees
/// only two of three classes.
std::unique_ptr<Problem> softmax_regression(int64_t replicas, uint64_t seed);

/// The number of last parameters that are biases: with `decay` "weights" they do not decay.
inline constexpr int64_t kBiases = 3;

/// Returns the start of replica i: standard normal numbers.
Eigen::VectorXd start_of(int64_t replica, int64_t parameters, uint64_t seed);

/// Returns the standard normal noise of replica i's gradient in iteration t.
Eigen::VectorXd gradient_noise(int64_t t, int64_t replica, int64_t parameters, uint64_t seed);

}  // namespace dbench::conform
