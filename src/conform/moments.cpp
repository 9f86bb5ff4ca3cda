// References of Adam variants with their own moments. g is the gradient at x with weight decay; all
// state starts at 0 unless stated otherwise.

#include <cmath>
#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

Matrix constant(const Parts& parts, double value) {
    return Matrix::Constant(parts.context.replicas, parts.context.parameters, value);
}

/// First and second moments, which both algorithms use.
class OwnMoments : public Reference {
public:
    explicit OwnMoments(Parts& parts)
        : beta1_(parts.algorithm.at("beta1")),
          beta2_(parts.algorithm.at("beta2")),
          eps_(parts.algorithm.at("eps")),
          m_(constant(parts, 0)),
          v_(m_),
          optimizer_(std::move(parts.optimizer)) {}

protected:
    void add_gradient(const Iteration& it, const Matrix& x) {
        const Matrix g = optimizer_->direction_at(it, x);
        m_ = beta1_ * m_ + (1 - beta1_) * g;
        v_ = beta2_ * v_ + (1 - beta2_) * g.cwiseAbs2();
    }

    double beta1_, beta2_, eps_;
    Matrix m_, v_;

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
};

/// DADAM (1901.09109), moments corrected with k = t + 1:
/// u = b3 u + (1 - b3) max(u, v^);  x+ = W x - lr m^ / (sqrt(u) + eps).
class Dadam final : public OwnMoments {
public:
    explicit Dadam(Parts parts)
        : OwnMoments(parts), beta3_(parts.algorithm.at("beta3")), u_(constant(parts, 0)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const auto k = static_cast<double>(it.t + 1);
        add_gradient(it, x);
        u_ = beta3_ * u_ + (1 - beta3_) * u_.cwiseMax(v_ / (1 - std::pow(beta2_, k)));
        const Matrix m = m_ / (1 - std::pow(beta1_, k));
        const Matrix d = it.lr * (m.array() / (u_.array().sqrt() + eps_)).matrix();
        it.record_averaging(x, w);
        it.record_update(d);
        x = w * x - d;
    }

private:
    double beta3_;
    Matrix u_;
};

/// 2109.03194: l+ = max(l, v);  x+ = W x - lr m / sqrt(max(u, eps));  u+ = W (u - l + l+);
/// u = l = eps at first.
class DAmsgrad final : public OwnMoments {
public:
    explicit DAmsgrad(Parts parts) : OwnMoments(parts), l_(constant(parts, eps_)), u_(l_) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        add_gradient(it, x);
        const Matrix largest = l_.cwiseMax(v_);
        const Matrix d = it.lr * (m_.array() / u_.array().max(eps_).sqrt()).matrix();
        it.record_averaging(x, w, 2);
        it.record_update(d);
        x = w * x - d;
        u_ = w * (u_ - l_ + largest);
        l_ = largest;
    }

private:
    Matrix l_, u_;
};

}  // namespace

std::unique_ptr<Reference> make_dadam(Parts parts) {
    return std::make_unique<Dadam>(std::move(parts));
}

std::unique_ptr<Reference> make_d_amsgrad(Parts parts) {
    return std::make_unique<DAmsgrad>(std::move(parts));
}

}  // namespace dbench::conform
