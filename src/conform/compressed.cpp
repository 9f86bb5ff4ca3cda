// Algorithms whose messages are compressed; Q is whatever the codec makes of a message.

#include <cmath>
#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

Matrix zero(const Parts& parts) {
    return Matrix::Zero(parts.context.replicas, parts.context.parameters);
}

/// No recursion in x and its rows: Q is not linear.
class Compressed : public Reference {
public:
    explicit Compressed(Parts& parts) : optimizer_(std::move(parts.optimizer)) {}
    std::string not_linear() const override { return "compresses its messages"; }

protected:
    std::unique_ptr<LocalOptimizer> optimizer_;
};

/// AdaGossip: CHOCO-SGD of the paper with r = W xhat - xhat; v = beta v + (1 - beta) r^2;
/// x+ = h + min(gamma / (sqrt(v / (1 - beta^k)) + 1e-8), 1) r elementwise, k = t + 1.
class AdaGossip final : public Compressed {
public:
    explicit AdaGossip(Parts parts)
        : Compressed(parts),
          gamma_(parts.algorithm.at("gamma")),
          beta_(parts.algorithm.at("beta")),
          known_(zero(parts)),
          v_(known_) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.updates(u);
        x -= u;
        it.rests(x);
        known_ += it.compress(x - known_, 0);
        it.tells(w);
        const Matrix r = w * known_ - known_;
        v_ = beta_ * v_ + (1 - beta_) * r.cwiseAbs2();
        const Matrix root = (v_ / (1 - std::pow(beta_, static_cast<double>(it.t + 1)))).cwiseSqrt();
        x.array() += (gamma_ / (root.array() + 1e-8)).min(1) * r.array();
    }

private:
    double gamma_, beta_;
    Matrix known_, v_;
};

/// CHOCO-SGD. paper: h = x - lr d; q = Q(h - xhat); xhat += q; x+ = h + gamma (W xhat - xhat).
/// parallel: q = Q(x - xhat) from iteration 1 on; xhat += q; x+ = h + gamma (W xhat - xhat).
class Choco final : public Compressed {
public:
    explicit Choco(Parts parts)
        : Compressed(parts),
          paper_(parts.algorithm.at("order") == "paper"),
          gamma_(parts.algorithm.at("gamma")),
          period_(parts.algorithm.at("period")),
          known_(zero(parts)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(0);
        const bool due = is_due(it.t, period_), parallel_sends = !paper_ && due && it.t > 0;
        if (parallel_sends) known_ += it.compress(x - known_, 0);
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.updates(u);
        x -= u;
        it.rests(x);
        if (parallel_sends) it.tells(w);
        if (!due) return;
        if (paper_) {
            known_ += it.compress(x - known_, 0);
            it.tells(w);
        }
        x += gamma_ * (w * known_ - known_);
    }

private:
    bool paper_;
    double gamma_;
    int64_t period_;
    Matrix known_;
};

/// DCD-PSGD: x+ = x + Q(W x - lr d - x).
class Dcd final : public Compressed {
public:
    explicit Dcd(Parts parts) : Compressed(parts) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.updates(u);
        it.rests(x);
        x += it.compress(w * x - u - x, 0);
        it.tells(w);
    }
};

/// ECD-PSGD, k = t + 1: x+ = s - lr d; y = Q((1 - k/2) x + (k/2) x+);
/// s = (1 - 2/k) s + (2/k) W y.
class Ecd final : public Compressed {
public:
    explicit Ecd(Parts parts) : Compressed(parts) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const auto k = static_cast<double>(it.t + 1);
        if (it.t == 0) s_ = w * x;
        const Matrix u = it.lr * optimizer_->direction_at(it, x), next = s_ - u;
        it.updates(u);
        it.rests(x);
        s_ = (1 - 2 / k) * s_ + 2 / k * (w * it.compress((1 - k / 2) * x + k / 2 * next, 0));
        it.tells(w);
        x = next;
    }

private:
    Matrix s_;
};

/// DeepSqueeze: h = x - lr d; v = h + e; c = Q(v); e = v - c; x+ = h + gamma (W c - c).
class DeepSqueeze final : public Compressed {
public:
    explicit DeepSqueeze(Parts parts)
        : Compressed(parts), gamma_(parts.algorithm.at("gamma")), e_(zero(parts)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.updates(u);
        x -= u;
        it.rests(x);
        if (w.nonZeros() == w.rows()) return;  // nobody exchanges
        const Matrix v = x + e_, c = it.compress(v, 0);
        it.tells(w);
        e_ = v - c;
        x += gamma_ * (w * c - c);
    }

private:
    double gamma_;
    Matrix e_;
};

/// BEER (lambda = 1) and MoTEF: x+ = x + gamma (W H - H) - lr V; H += Q(x+ - H);
/// V+ = V + gamma (W G - G) + M+ - M; G += Q(V+ - G); M+ = (1 - lambda) M + lambda g(x+).
class Beer final : public Compressed {
public:
    explicit Beer(Parts parts)
        : Compressed(parts),
          gamma_(parts.algorithm.at("gamma")),
          lambda_(parts.algorithm.value("lambda", 1.0)),
          h_(zero(parts)),
          g_(zero(parts)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix gradient = optimizer_->direction_at(it, x);
        if (it.t == 0) {
            v_ = m_ = gradient;
        } else {
            const Matrix m = (1 - lambda_) * m_ + lambda_ * gradient;
            v_ += gamma_ * (w * g_ - g_) + m - m_;
            m_ = m;
            g_ += it.compress(v_ - g_, 1);
            it.tells(w);
        }
        it.updates(it.lr * v_);
        it.rests(x - it.lr * v_);
        x += gamma_ * (w * h_ - h_) - it.lr * v_;
        h_ += it.compress(x - h_, 0);
        it.tells(w);
    }

private:
    double gamma_, lambda_;
    Matrix h_, g_, v_, m_;
};

}  // namespace

std::unique_ptr<Reference> make_choco(Parts parts) {
    return std::make_unique<Choco>(std::move(parts));
}
std::unique_ptr<Reference> make_adagossip(Parts parts) {
    return std::make_unique<AdaGossip>(std::move(parts));
}
std::unique_ptr<Reference> make_dcd(Parts parts) { return std::make_unique<Dcd>(std::move(parts)); }
std::unique_ptr<Reference> make_ecd(Parts parts) { return std::make_unique<Ecd>(std::move(parts)); }
std::unique_ptr<Reference> make_deepsqueeze(Parts parts) {
    return std::make_unique<DeepSqueeze>(std::move(parts));
}
std::unique_ptr<Reference> make_beer(Parts parts) {
    return std::make_unique<Beer>(std::move(parts));
}
std::unique_ptr<Reference> make_motef(Parts parts) {
    return std::make_unique<Beer>(std::move(parts));
}

}  // namespace dbench::conform
