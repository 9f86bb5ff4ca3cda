#pragma once
// Problems whose gradients and minimisers are known: what the conformance checks train on.

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

namespace dbench::conform {

/// A replica's model around x on its m samples: outputs f [m, C], their Jacobian, targets Y.
struct Around {
    std::vector<Eigen::MatrixXd> jacobian;  ///< of each output: [m, P]
    Eigen::MatrixXd f, y;
    bool classes;  ///< loss: cross-entropy of softmax f, or half the squared difference
};

/// minimise (1/n) sum_i f_i(x), x in R^P; f_i belongs to replica i.
class Problem {
public:
    virtual ~Problem() = default;
    virtual const char* name() const = 0;
    virtual int64_t parameters() const = 0;  ///< P
    virtual Eigen::VectorXd gradient(int64_t replica, const Eigen::VectorXd& x) const = 0;
    /// The gradient at `student` of D_i, how far its outputs are from those at `teacher` on the
    /// replica's data: half the squared difference, or of classes T^2 KL(softmax teacher / T ||
    /// softmax student / T), T the temperature.
    virtual Eigen::VectorXd distillation(int64_t replica, const Eigen::VectorXd& student,
                                         const Eigen::VectorXd& teacher,
                                         double temperature) const = 0;
    virtual Around around(int64_t replica, const Eigen::VectorXd& x) const = 0;
    /// Mean over the samples of the loss that Around names: f_i but for penalties.
    virtual double loss(int64_t replica, const Eigen::VectorXd& x) const = 0;
    virtual Eigen::VectorXd minimiser() const = 0;
};

/// f_i(x) = (x - b_i)' A_i (x - b_i) / 2 with eigenvalues of A_i in [0.5, 1.5]; the b_i lie
/// `spread` apart. As a model: P samples of one output, which are together sqrt(P A_i) times x.
std::unique_ptr<Problem> quadratics(int64_t replicas, double spread, uint64_t seed);

/// Multinomial logistic regression with an L2 penalty on few generated samples; every replica sees
/// two of three classes only.
std::unique_ptr<Problem> softmax_regression(int64_t replicas, uint64_t seed);

/// The last parameters are biases: with `decay` "weights" they do not decay.
inline constexpr int64_t kBiases = 3;

/// Where replica i starts: standard normal numbers.
Eigen::VectorXd start_of(int64_t replica, int64_t parameters, uint64_t seed);

/// Standard normal noise of replica i's gradient in iteration t.
Eigen::VectorXd gradient_noise(int64_t t, int64_t replica, int64_t parameters, uint64_t seed);

}  // namespace dbench::conform
