// References of algorithms whose corrections make them exact under heterogeneity. In this file g is
// the gradient at x with weight decay.

#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

/// D2 (Tang et al. 2018): x_1 = W (x_0 - lr_0 g_0), then
///     x_{t+1} = W (2 x_t - x_{t-1} - (lr_t g_t - lr_{t-1} g_{t-1}))
class D2 : public Reference {
public:
    explicit D2(Parts parts) : optimizer_(std::move(parts.optimizer)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix u = -it.lr * optimizer_->direction_at(it, x);
        const Matrix now = x;
        x += u;
        if (previous_.size() > 0) x += now - previous_ - previous_u_;
        const Weights w = it.w(it.t);
        it.record_update(u);
        it.record_averaging(x, w);
        x = w * x;
        previous_ = now;
        previous_u_ = u;
    }
    std::vector<Matrix*> rows() override { return {&previous_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    Matrix previous_, previous_u_;
};

/// D2 in the relay form (code of 2110.04175), u = -lr g: x+ = W (x + u + c);  c+ = x+ - x - u;
/// c_0 = 0.
class D2Relay : public Reference {
public:
    explicit D2Relay(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          c_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix u = it.lr * optimizer_->direction_at(it, x), moved = x - u;
        const Weights w = it.w(it.t);
        it.record_update(u);
        it.record_averaging(moved + c_, w);
        x = w * (moved + c_);
        c_ = x - moved;
    }
    std::vector<Matrix*> rows() override { return {&c_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    Matrix c_;
};

/// Exact diffusion (1702.05122): psi+ = x - lr g;  phi = psi+ + x - psi;  x+ = (W + I)/2 phi;
/// psi_0 = x_0.
class ExactDiffusion : public Reference {
public:
    explicit ExactDiffusion(Parts parts) : optimizer_(std::move(parts.optimizer)) {}

    void step(const Iteration& it, Matrix& x) override {
        if (psi_.size() == 0) psi_ = x;
        const Matrix u = it.lr * optimizer_->direction_at(it, x), psi = x - u;
        const Matrix phi = psi + x - psi_;
        const Weights w = it.w(it.t);
        it.record_update(u);
        it.record_averaging(phi, w);
        x = 0.5 * (w * phi + phi);
        psi_ = psi;
    }
    std::vector<Matrix*> rows() override { return {&psi_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    Matrix psi_;
};

/// EXTRA (1404.6264) with W~ = (I + W)/2: x_1 = W x_0 - lr g_0, then
///     x_{t+1} = x_t + W_t x_t - W~_{t-1} x_{t-1} - (lr_t g_t - lr_{t-1} g_{t-1})
class Extra : public Reference {
public:
    explicit Extra(Parts parts) : optimizer_(std::move(parts.optimizer)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix u = it.lr * optimizer_->direction_at(it, x), now = x;
        const Weights w = it.w(it.t);
        it.record_update(u);
        it.record_averaging(x, w);
        x = w * x - u;
        if (previous_.size() > 0) {
            x += now - 0.5 * (previous_ + it.w(it.t - 1) * previous_) + previous_u_;
        }
        previous_ = now;
        previous_u_ = u;
    }
    std::vector<Matrix*> rows() override { return {&previous_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    Matrix previous_, previous_u_;
};

/// Gradient tracking. Tracker and parameters use the same W_t; y_0 = g_0 (start local) or W_0 g_0
/// (start averaged):
/// atc:    y_t = W_t (y_{t-1} + g_t - g_{t-1});  x_{t+1} = W_t (x_t - lr y_t)
/// diging: y_t = W_{t-1} y_{t-1} + g_t - g_{t-1};  x_{t+1} = W_t x_t - lr y_t
class GradientTracking : public Reference {
public:
    explicit GradientTracking(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          atc_(parts.algorithm.at("form") == "atc"),
          averaged_(parts.algorithm.at("start") == "averaged") {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix g = optimizer_->direction_at(it, x);
        if (y_.size() == 0) {
            y_ = averaged_ ? Matrix(w * g) : g;
        } else if (atc_) {
            y_ = w * (y_ + g - g_);
        } else {
            y_ = it.w(it.t - 1) * y_ + g - g_;
        }
        it.record_update(it.lr * y_);
        const int first = atc_ ? (averaged_ ? 2 : 1) : (averaged_ ? 3 : 2);  // rows of iteration 0
        it.record_averaging(atc_ ? Matrix(x - it.lr * y_) : x, w, it.t == 0 ? first : 2);
        x = atc_ ? Matrix(w * (x - it.lr * y_)) : Matrix(w * x - it.lr * y_);
        g_ = g;
    }
    std::vector<Matrix*> rows() override { return {&y_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    bool atc_, averaged_;
    Matrix y_, g_;
};

/// Momentum tracking (2209.15505) in the form of the authors' code:
///     u_t = beta u_{t-1} + g_t;  x_{t+1} = W_t x_t - lr (u_t - c_t);
///     c_{t+1} = W_t (c_t - u_t) + u_t
/// from u_{-1} = c_0 = (g_0 - mean(g_0)) / (1 - beta) (start mean), or from 0 (start local).
class MomentumTracking : public Reference {
public:
    explicit MomentumTracking(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          beta_(parts.algorithm.at("beta").get<double>()),
          mean_(parts.algorithm.at("start") == "mean"),
          u_(Matrix::Zero(parts.context.replicas, parts.context.parameters)),
          c_(u_) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix g = optimizer_->direction_at(it, x);
        const Weights w = it.w(it.t);
        it.record_averaging(x, w, 2);
        if (it.t == 0 && mean_) {
            u_ = c_ = (g - it.mean * g) / (1 - beta_);
            it.record_rows(2.0 * static_cast<double>(x.rows() - 1));  // of an all-reduce
        }
        u_ = beta_ * u_ + g;
        const Matrix update = it.lr * (u_ - c_);
        it.record_update(update);
        x = w * x - update;
        c_ = w * (c_ - u_) + u_;
    }
    std::vector<Matrix*> rows() override { return {&u_, &c_}; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double beta_;
    bool mean_;
    Matrix u_, c_;
};

}  // namespace

std::unique_ptr<Reference> make_d2(Parts parts) {
    if (parts.algorithm.at("form") == "relay") return std::make_unique<D2Relay>(std::move(parts));
    return std::make_unique<D2>(std::move(parts));
}

std::unique_ptr<Reference> make_exact_diffusion(Parts parts) {
    return std::make_unique<ExactDiffusion>(std::move(parts));
}

std::unique_ptr<Reference> make_extra(Parts parts) {
    return std::make_unique<Extra>(std::move(parts));
}

std::unique_ptr<Reference> make_gradient_tracking(Parts parts) {
    return std::make_unique<GradientTracking>(std::move(parts));
}

std::unique_ptr<Reference> make_momentum_tracking(Parts parts) {
    return std::make_unique<MomentumTracking>(std::move(parts));
}

}  // namespace dbench::conform
