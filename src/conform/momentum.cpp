// References of momentum methods that take the averaging into account. In this file g is the
// gradient at x with weight decay, and all buffers start at 0.

#include <cmath>
#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

using base::Json;

/// Returns `mu`, or `beta` if `mu` is null.
double mu_of(const Json& algorithm) {
    const Json& mu = algorithm.at("mu");
    return (mu.is_null() ? algorithm.at("beta") : mu).get<double>();
}

/// Ying et al. 2021: m+ = W (beta m + g);  x+ = W (x - lr m), which uses the old m.
class AveragedMomentum : public Reference {
public:
    explicit AveragedMomentum(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          beta_(parts.algorithm.at("beta").get<double>()),
          m_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix g = optimizer_->direction_at(it, x);
        it.record_update(it.lr * m_);
        it.record_averaging(x - it.lr * m_, w, 2);
        x = w * (x - it.lr * m_);
        m_ = w * (beta_ * m_ + g);
    }
    std::vector<Matrix*> rows() override { return {&m_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double beta_;
    Matrix m_;
};

/// DecentLaM (2104.11981): g~ = (x - W (x - lr g)) / lr;  m+ = beta m + g~;  x+ = x - lr m+.
class DecentLam : public Reference {
public:
    explicit DecentLam(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          beta_(parts.algorithm.at("beta").get<double>()),
          m_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix g = optimizer_->direction_at(it, x);
        const Weights w = it.w(it.t);
        it.record_update(it.lr * g);
        it.record_averaging(x - it.lr * g, w);
        const Matrix seen = (x - w * (x - it.lr * g)) / it.lr;
        m_ = beta_ * m_ + seen;
        x -= it.lr * m_;
    }
    std::vector<Matrix*> rows() override { return {&m_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double beta_;
    Matrix m_;
};

/// QG-DSGDm (2102.04761), mh the quasi-global momentum:
///     m = beta mh + g;  x+ = W (x - lr m), with Nesterov's rule g + beta m for m
///     mh+ = mu mh + (1 - mu) (x - x+) / lr
class QgDsgdm : public Reference {
public:
    explicit QgDsgdm(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          beta_(parts.algorithm.at("beta").get<double>()),
          mu_(mu_of(parts.algorithm)),
          nesterov_(parts.algorithm.at("nesterov").get<bool>()),
          mh_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix g = optimizer_->direction_at(it, x);
        Matrix m = beta_ * mh_ + g;
        if (nesterov_) m = g + beta_ * m;
        const Weights w = it.w(it.t);
        it.record_update(it.lr * m);
        it.record_averaging(x - it.lr * m, w);
        const Matrix next = w * (x - it.lr * m);
        mh_ = mu_ * mh_ + (1 - mu_) * (x - next) / it.lr;
        x = next;
    }
    std::vector<Matrix*> rows() override { return {&mh_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double beta_, mu_;
    bool nesterov_;
    Matrix mh_;
};

/// QG-Adam (2102.04761, the authors' code), mh and vh quasi-global, k = t + 1:
///     m = b1 mh + g;  v = b2 vh + (1 - b2) g^2                 (the factor 1 on g is intended)
///     x+ = W (x - lr / (1 - b1^k) m / (sqrt(v) / sqrt(1 - b2^k) + eps))
///     d = x - x+;  s = d / (||d|| + norm_eps), the norm over the replica's whole row
///     mh+ = b1 mh + (1 - b1) s;  vh+ = b2 vh + (1 - b2) s^2
class QgAdam : public Reference {
public:
    explicit QgAdam(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          beta1_(parts.algorithm.at("beta1").get<double>()),
          beta2_(parts.algorithm.at("beta2").get<double>()),
          eps_(parts.algorithm.at("eps").get<double>()),
          norm_eps_(parts.algorithm.at("norm_eps").get<double>()),
          mh_(Matrix::Zero(parts.context.replicas, parts.context.parameters)),
          vh_(mh_) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix g = optimizer_->direction_at(it, x);
        const Matrix m = beta1_ * mh_ + g;
        const Matrix v = beta2_ * vh_ + (1 - beta2_) * g.cwiseAbs2();
        const auto k = static_cast<double>(it.t + 1);
        const double root = std::sqrt(1 - std::pow(beta2_, k));
        const Matrix d = m.array() / (v.array().sqrt() / root + eps_);
        const Matrix u = it.lr / (1 - std::pow(beta1_, k)) * d;
        const Weights w = it.w(it.t);
        it.record_update(u);
        it.record_averaging(x - u, w);
        const Matrix next = w * (x - u);

        Matrix s = x - next;
        for (Eigen::Index i = 0; i < s.rows(); ++i) s.row(i) /= s.row(i).norm() + norm_eps_;
        mh_ = beta1_ * mh_ + (1 - beta1_) * s;
        vh_ = beta2_ * vh_ + (1 - beta2_) * s.cwiseAbs2();
        x = next;
    }
    std::string not_linear() const override {
        return "normalises its steps: they are not linear in the parameters";
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double beta1_, beta2_, eps_, norm_eps_;
    Matrix mh_, vh_;
};

}  // namespace

std::unique_ptr<Reference> make_averaged_momentum(Parts parts) {
    return std::make_unique<AveragedMomentum>(std::move(parts));
}

std::unique_ptr<Reference> make_decentlam(Parts parts) {
    return std::make_unique<DecentLam>(std::move(parts));
}

std::unique_ptr<Reference> make_qg_dsgdm(Parts parts) {
    return std::make_unique<QgDsgdm>(std::move(parts));
}

std::unique_ptr<Reference> make_qg_adam(Parts parts) {
    return std::make_unique<QgAdam>(std::move(parts));
}

}  // namespace dbench::conform
