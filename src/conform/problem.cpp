#include "conform/problem.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <vector>

#include "base/streams.hpp"

namespace dbench::conform {
namespace {

using base::ProblemStream;
using base::Random;
using base::random_stream;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd normals(int64_t rows, int64_t columns, Random& random) {
    MatrixXd out(rows, columns);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) out(i, j) = random.normal();
    }
    return out;
}

class Quadratics final : public Problem {
public:
    Quadratics(int64_t replicas, double spread, uint64_t seed) {
        for (int64_t i = 0; i < replicas; ++i) {
            Random random = random_stream(seed, ProblemStream::quadratics, i);
            const MatrixXd q = normals(kSize, kSize, random).householderQr().householderQ() *
                               MatrixXd::Identity(kSize, kSize);
            VectorXd values(kSize);
            for (int64_t k = 0; k < kSize; ++k) values[k] = 0.5 + random.uniform();
            a_.push_back(q * values.asDiagonal() * q.transpose());
            const VectorXd roots = (double(kSize) * values).cwiseSqrt();
            j_.push_back(q * roots.asDiagonal() * q.transpose());
            b_.push_back(VectorXd::Ones(kSize) + spread * normals(kSize, 1, random));
        }
    }
    const char* name() const override { return "quadratics"; }
    int64_t parameters() const override { return kSize; }
    VectorXd gradient(int64_t replica, const VectorXd& x) const override {
        return a_[replica] * (x - b_[replica]);
    }
    VectorXd distillation(int64_t replica, const VectorXd& student, const VectorXd& teacher,
                          double) const override {
        return a_[replica] * (student - teacher);
    }
    Around around(int64_t replica, const VectorXd& x) const override {
        const MatrixXd& j = j_[replica];
        return {{j}, j * x, j * b_[replica], false};
    }
    double loss(int64_t replica, const VectorXd& x) const override {
        return (x - b_[replica]).dot(gradient(replica, x)) / 2;
    }
    VectorXd minimiser() const override {
        MatrixXd a = MatrixXd::Zero(kSize, kSize);
        VectorXd right = VectorXd::Zero(kSize);
        for (size_t i = 0; i < a_.size(); ++i) {
            a += a_[i];
            right += a_[i] * b_[i];
        }
        return a.partialPivLu().solve(right);
    }

private:
    static constexpr int64_t kSize = 12;
    std::vector<MatrixXd> a_, j_;  // j_' j_ = kSize a_
    std::vector<VectorXd> b_;
};

class SoftmaxRegression final : public Problem {
public:
    SoftmaxRegression(int64_t replicas, uint64_t seed) {
        for (int64_t i = 0; i < replicas; ++i) {
            Random random = random_stream(seed, ProblemStream::softmax, i);
            MatrixXd features = normals(kSamples, kFeatures, random);
            MatrixXd labels = MatrixXd::Zero(kSamples, kClasses);
            for (int64_t s = 0; s < kSamples; ++s) {
                const auto label = static_cast<int64_t>((i + random.below(2)) % kClasses);
                labels(s, label) = 1;
                features(s, label) += 1;  // separates the classes
            }
            features_.push_back(std::move(features));
            labels_.push_back(std::move(labels));
        }
    }
    const char* name() const override { return "softmax regression"; }
    int64_t parameters() const override { return kFeatures * kClasses; }
    VectorXd gradient(int64_t replica, const VectorXd& x) const override {
        const MatrixXd error = shares(replica, x, 1) - labels_[replica];
        const MatrixXd g = features_[replica].transpose() * error / double(kSamples);
        return g.reshaped() + kPenalty * x;
    }
    VectorXd distillation(int64_t replica, const VectorXd& student, const VectorXd& teacher,
                          double temperature) const override {
        const MatrixXd error =
            shares(replica, student, temperature) - shares(replica, teacher, temperature);
        const MatrixXd g = features_[replica].transpose() * error / double(kSamples);
        return temperature * g.reshaped();
    }
    Around around(int64_t replica, const VectorXd& x) const override {
        const MatrixXd& features = features_[replica];
        Around out{{}, features * x.reshaped(kFeatures, kClasses), labels_[replica], true};
        for (int64_t c = 0; c < kClasses; ++c) {
            out.jacobian.push_back(MatrixXd::Zero(kSamples, parameters()));
            out.jacobian.back().middleCols(c * kFeatures, kFeatures) = features;
        }
        return out;
    }
    double loss(int64_t replica, const VectorXd& x) const override {
        const MatrixXd logarithms = shares(replica, x, 1).array().log();
        return -labels_[replica].cwiseProduct(logarithms).sum() / double(kSamples);
    }
    VectorXd minimiser() const override {
        VectorXd x = VectorXd::Zero(parameters());
        const auto n = static_cast<int64_t>(features_.size());
        for (int64_t t = 0; t < 5000; ++t) {
            VectorXd g = VectorXd::Zero(parameters());
            for (int64_t i = 0; i < n; ++i) g += gradient(i, x) / double(n);
            x -= 0.3 * g;
            if (g.norm() < 1e-15) break;
        }
        return x;
    }

private:
    static constexpr int64_t kSamples = 16, kFeatures = 5, kClasses = 3;
    static constexpr double kPenalty = 0.1;

    // Softmax of logits over T, a row per sample.
    MatrixXd shares(int64_t replica, const VectorXd& x, double temperature) const {
        const MatrixXd weights = x.reshaped(kFeatures, kClasses);
        MatrixXd p = (features_[replica] * weights / temperature).array().exp();
        for (int64_t s = 0; s < kSamples; ++s) p.row(s) /= p.row(s).sum();
        return p;
    }

    std::vector<MatrixXd> features_, labels_;
};

}  // namespace

std::unique_ptr<Problem> quadratics(int64_t replicas, double spread, uint64_t seed) {
    return std::make_unique<Quadratics>(replicas, spread, seed);
}

std::unique_ptr<Problem> softmax_regression(int64_t replicas, uint64_t seed) {
    return std::make_unique<SoftmaxRegression>(replicas, seed);
}

VectorXd start_of(int64_t replica, int64_t parameters, uint64_t seed) {
    Random random = random_stream(seed, ProblemStream::start, replica);
    return normals(parameters, 1, random);
}

VectorXd gradient_noise(int64_t t, int64_t replica, int64_t parameters, uint64_t seed) {
    Random random = random_stream(seed, ProblemStream::gradient_noise, t, replica);
    return normals(parameters, 1, random);
}

}  // namespace dbench::conform
