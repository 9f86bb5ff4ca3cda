#include "conform/local_optimizer.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "conform/problem.hpp"

namespace dbench::conform {
namespace {

using base::Json;

/// g += wd x; m = beta m + g; d = m, or with Nesterov's rule g + beta m.
class Sgd : public LocalOptimizer {
public:
    explicit Sgd(const Json& optimizer)
        : LocalOptimizer(optimizer),
          momentum_(optimizer.value("momentum", 0.0)),
          nesterov_(optimizer.value("nesterov", false)) {}

    Matrix direction(const Matrix& point, Matrix g) override {
        add_decay(g, point);
        if (momentum_ == 0) return g;
        if (m_.size() == 0) m_.setZero(g.rows(), g.cols());
        m_ = momentum_ * m_ + g;
        return nesterov_ ? Matrix(g + momentum_ * m_) : m_;
    }

private:
    double momentum_;
    bool nesterov_;
    Matrix m_;
};

/// AccumAdam (Decent-DP): the moments M, V move once in s steps, by the mean a of the window's
/// gradients. Adam is the case s = 1. In step t = 1, 2, ..., with k = ceil(t / s):
///     m = b1 M + (1 - b1) g;  v = b2 V + (1 - b2) g^2
///     d = m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)
///     t mod s = 0:  M = b1 M + (1 - b1) a;  V = b2 V + (1 - b2) a^2;  a = 0
/// Weight decay: Adam uses g += wd x; AdamW uses x *= 1 - lr wd before the step, which equals d +=
/// wd x.
class AccumAdam : public LocalOptimizer {
public:
    AccumAdam(const Json& optimizer, int64_t window, bool decoupled)
        : LocalOptimizer(optimizer),
          beta1_(optimizer.at("betas").at(0).get<double>()),
          beta2_(optimizer.at("betas").at(1).get<double>()),
          eps_(optimizer.at("eps").get<double>()),
          window_(window),
          decoupled_(decoupled),
          amsgrad_(optimizer.value("amsgrad", false)),
          bias_correction_(optimizer.value("bias_correction", true)) {}

    Matrix direction(const Matrix& point, Matrix g) override {
        if (t_++ == 0) {
            first_ = Matrix::Zero(g.rows(), g.cols());
            second_ = accumulated_ = largest_ = first_;
        }
        if (!decoupled_) add_decay(g, point);
        accumulated_ += g / static_cast<double>(window_);

        const auto k = static_cast<double>((t_ + window_ - 1) / window_);
        const Matrix m = beta1_ * first_ + (1 - beta1_) * g;
        const Matrix v = beta2_ * second_ + (1 - beta2_) * g.cwiseAbs2();
        largest_ = largest_.cwiseMax(v);
        const Matrix& size = amsgrad_ ? largest_ : v;
        const Matrix m_hat = m / (bias_correction_ ? 1 - std::pow(beta1_, k) : 1);
        const Matrix v_hat = size / (bias_correction_ ? 1 - std::pow(beta2_, k) : 1);
        Matrix d = m_hat.array() / (v_hat.array().sqrt() + eps_);
        if (decoupled_) add_decay(d, point);

        if (t_ % window_ == 0) {
            first_ = beta1_ * first_ + (1 - beta1_) * accumulated_;
            second_ = beta2_ * second_ + (1 - beta2_) * accumulated_.cwiseAbs2();
            accumulated_.setZero();
        }
        return d;
    }

private:
    double beta1_, beta2_, eps_;
    int64_t window_;
    bool decoupled_, amsgrad_, bias_correction_;
    int64_t t_ = 0;                                  ///< Number of steps, including this one.
    Matrix first_, second_, accumulated_, largest_;  ///< M, V, a, the largest v
};

}  // namespace

LocalOptimizer::LocalOptimizer(const Json& optimizer)
    : weight_decay_(optimizer.value("weight_decay", 0.0)),
      clip_norm_(std::numeric_limits<double>::infinity()),
      spared_(optimizer.value("decay", std::string("all")) == "weights" ? kBiases : 0) {
    const auto clip = optimizer.find("clip_norm");
    if (clip != optimizer.end() && !clip->is_null()) clip_norm_ = clip->get<double>();
}

void LocalOptimizer::add_decay(Matrix& g, const Matrix& point) const {
    if (weight_decay_ == 0) return;
    const Eigen::Index weights = g.cols() - spared_;
    g.leftCols(weights) += weight_decay_ * point.leftCols(weights);
}

Matrix LocalOptimizer::gradient(const Iteration& iteration, const Matrix& point) const {
    Matrix g = iteration.gradient(point);
    for (Eigen::Index i = 0; i < g.rows(); ++i) {
        const double norm = g.row(i).norm();
        if (norm > clip_norm_) g.row(i) *= clip_norm_ / norm;
    }
    return g;
}

void LocalOptimizer::step(const Iteration& iteration, Matrix& x) {
    const Matrix u = iteration.lr * direction_at(iteration, x);
    iteration.record_update(u);
    x -= u;
    iteration.record_no_averaging(x);
}

std::unique_ptr<LocalOptimizer> make_local_optimizer(const Json& optimizer) {
    const std::string type = optimizer.at("type").get<std::string>();
    if (type == "sgd") return std::make_unique<Sgd>(optimizer);
    if (type == "adam") return std::make_unique<AccumAdam>(optimizer, 1, false);
    if (type == "adamw") return std::make_unique<AccumAdam>(optimizer, 1, true);
    if (type == "accum_adam" || type == "accum_adamw") {
        const auto window = optimizer.at("window").get<int64_t>();
        return std::make_unique<AccumAdam>(optimizer, window, type == "accum_adamw");
    }
    return nullptr;
}

bool is_plain(const Json& optimizer) {
    return optimizer.at("type") == "sgd" && optimizer.value("momentum", 0.0) == 0;
}

}  // namespace dbench::conform
