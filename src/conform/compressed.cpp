// References of algorithms whose messages are compressed; Q is the codec's encode and decode.

#include <Eigen/Dense>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/random.hpp"
#include "conform/families.hpp"

namespace dbench::conform {
namespace {

Matrix zero(const Parts& parts) {
    return Matrix::Zero(parts.context.replicas, parts.context.parameters);
}

/// Base class. These algorithms have no linear recursion in x and its rows, because Q is not
/// linear.
class Compressed : public Reference {
public:
    explicit Compressed(Parts& parts) : optimizer_(std::move(parts.optimizer)) {}
    std::string not_linear() const override { return "compresses its messages"; }

protected:
    std::unique_ptr<LocalOptimizer> optimizer_;
};

/// AdaGossip: CHOCO-SGD in the order "paper" with r = W xhat - xhat; v = beta v + (1 - beta) r^2;
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
        optimizer_->step(it, x);
        known_ += it.compress(x - known_, 0);
        it.record_messages(w);
        const Matrix r = w * known_ - known_;
        v_ = beta_ * v_ + (1 - beta_) * r.cwiseAbs2();
        const Matrix root = (v_ / (1 - std::pow(beta_, static_cast<double>(it.t + 1)))).cwiseSqrt();
        x.array() += (gamma_ / (root.array() + 1e-8)).min(1) * r.array();
    }

private:
    double gamma_, beta_;
    Matrix known_, v_;
};

/// CHOCO-SGD.
/// order "paper": h = x - lr d; q = Q(h - xhat); xhat += q; x+ = h + gamma (W xhat - xhat).
/// order "parallel": q = Q(x - xhat) from iteration 1 on; xhat += q; x+ = h + gamma (W xhat -
/// xhat), where h = x - lr d.
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
        optimizer_->step(it, x);
        if (parallel_sends) it.record_messages(w);
        if (!due) return;
        if (paper_) {
            known_ += it.compress(x - known_, 0);
            it.record_messages(w);
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
        it.record_update(u);
        it.record_no_averaging(x);
        x += it.compress(w * x - u - x, 0);
        it.record_messages(w);
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
        it.record_update(u);
        it.record_no_averaging(x);
        s_ = (1 - 2 / k) * s_ + 2 / k * (w * it.compress((1 - k / 2) * x + k / 2 * next, 0));
        it.record_messages(w);
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
        optimizer_->step(it, x);
        if (w.nonZeros() == w.rows()) return;  // no replica exchanges
        const Matrix v = x + e_, c = it.compress(v, 0);
        it.record_messages(w);
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
            it.record_messages(w);
        }
        it.record_update(it.lr * v_);
        it.record_no_averaging(x - it.lr * v_);
        x += gamma_ * (w * h_ - h_) - it.lr * v_;
        h_ += it.compress(x - h_, 0);
        it.record_messages(w);
    }

private:
    double gamma_, lambda_;
    Matrix h_, g_, v_, m_;
};

/// Moniqua, B = 2 theta / (1 - 2 delta), y mod B in [-B/2, B/2):
///     q = floor(((h mod B)/B + 1/2) / delta + u) delta - 1/2;  e = q B - (h mod B)
///     x_i+ = h_i + gamma sum_{j != i} w_ij (((q_j B - h_i) mod B) - e_i)
/// with h = x - lr d(x). In the form combine_while_adapt h is x, and lr d(x) is subtracted at the
/// end. The noise u is drawn once per element of a tensor and iteration; all senders share it.
class Moniqua final : public Compressed {
public:
    explicit Moniqua(Parts parts)
        : Compressed(parts),
          bits_(parts.algorithm.at("bits")),
          delta_(1 / (std::pow(2.0, static_cast<double>(bits_)) - 1)),
          b_(2 * parts.algorithm.at("theta").get<double>() / (1 - 2 * delta_)),
          gamma_(parts.algorithm.at("gamma")),
          adapts_first_(parts.algorithm.at("form") == "adapt_then_combine"),
          context_(std::move(parts.context)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        if (adapts_first_) {
            optimizer_->step(it, x);
            approach(it, w, x);
            return;
        }
        const Matrix change = it.lr * optimizer_->direction_at(it, x);
        it.record_update(change);
        it.record_no_averaging(x);
        approach(it, w, x);
        x -= change;
    }

private:
    void approach(const Iteration& it, const Weights& w, Matrix& x) const {
        if (w.nonZeros() == w.rows()) return;  // no replica exchanges
        const Eigen::RowVectorXd u = noise(it.t);
        const Matrix h = x;
        Matrix q(h.rows(), h.cols());
        for (Eigen::Index c = 0; c < h.cols(); ++c) {
            for (Eigen::Index i = 0; i < h.rows(); ++i) {
                q(i, c) = std::floor((modulo(h(i, c)) / b_ + 0.5) / delta_ + u[c]) * delta_ - 0.5;
            }
        }
        for (Eigen::Index i = 0; i < w.outerSize(); ++i) {
            for (Weights::InnerIterator link(w, i); link; ++link) {
                if (link.col() == i) continue;
                for (Eigen::Index c = 0; c < h.cols(); ++c) {
                    const double e = q(i, c) * b_ - modulo(h(i, c));
                    const double heard = modulo(q(link.col(), c) * b_ - h(i, c));
                    x(i, c) += gamma_ * link.value() * (heard - e);
                }
            }
        }
        int64_t bytes = 0;
        for (const auto& shape : context_.tensors) bytes += (elements(shape) * bits_ + 7) / 8;
        it.record_messages(
            w, static_cast<double>(bytes) / static_cast<double>(x.cols()) * it.weight_share / 8);
    }

    double modulo(double y) const { return y - b_ * std::floor(y / b_ + 0.5); }
    Eigen::RowVectorXd noise(int64_t t) const {
        Eigen::RowVectorXd u(context_.parameters);
        Eigen::Index c = 0;
        for (size_t k = 0; k < context_.tensors.size(); ++k) {
            base::Random random(context_.seed, base::Purpose::message,
                                {0, static_cast<uint64_t>(t), 0, k});
            for (int64_t m = elements(context_.tensors[k]); m > 0; --m) u[c++] = random.uniform();
        }
        return u;
    }

    int64_t bits_;
    double delta_, b_, gamma_;
    bool adapts_first_;
    ReferenceContext context_;
};

/// PowerGossip with rank 1: for both ends i < j of each link and every tensor that is a matrix
///     odd t:  q /= ||q||, p = (H_i - H_j) q;   even t > 0:  p /= ||p||, q = (H_i - H_j)' p
///     X_i -= w_ij p q';  X_j += w_ij p q'
/// and x_i += w_ij (h_j - h_i) for the other tensors. A vector of zeros is replaced by a random
/// one, drawn with a key of the link.
class PowerGossip final : public Compressed {
public:
    explicit PowerGossip(Parts parts) : Compressed(parts), context_(std::move(parts.context)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        optimizer_->step(it, x);
        if (it.t == 0) return;
        const Matrix h = x;
        int64_t sent = 0;
        for (size_t k = 0, begin = 0; k < context_.tensors.size(); ++k) {
            const auto& shape = context_.tensors[k];
            const int64_t numel = elements(shape);
            const auto first = static_cast<Eigen::Index>(begin);
            begin += static_cast<size_t>(numel);
            sent += shape.size() == 1 ? numel : it.t % 2 == 1 ? shape[0] : numel / shape[0];
            for (Eigen::Index i = 0; i < w.outerSize(); ++i) {
                for (Weights::InnerIterator link(w, i); link; ++link) {
                    const Eigen::Index j = link.col();
                    if (j <= i) continue;
                    Eigen::RowVectorXd d = (h.row(i) - h.row(j)).segment(first, numel);
                    if (shape.size() > 1) d = approximated(d, shape[0], it.t, {i, j, k});
                    x.row(i).segment(first, numel) -= link.value() * d;
                    x.row(j).segment(first, numel) += link.value() * d;
                }
            }
        }
        it.record_messages(w, static_cast<double>(sent) / static_cast<double>(x.cols()));
    }
    bool distinguishes_replicas() const override { return true; }  // through the keys of links
    /// The remaining difference is small compared with what was sent, and is normalised to length
    /// 1.
    double amplification() const override { return 1e3; }

private:
    struct Pair {
        Eigen::VectorXd p, q;
    };
    using Key = std::tuple<Eigen::Index, Eigen::Index, size_t>;  // i, j, tensor

    Eigen::RowVectorXd approximated(const Eigen::RowVectorXd& d, int64_t rows, int64_t t,
                                    const Key& key) {
        const Eigen::MatrixXd matrix = d.reshaped<Eigen::RowMajor>(rows, d.size() / rows);
        Pair& pair = pairs_[key];
        if (pair.p.size() == 0) {
            pair = {Eigen::VectorXd::Zero(matrix.rows()), Eigen::VectorXd::Zero(matrix.cols())};
        }
        Eigen::VectorXd& known = t % 2 == 1 ? pair.q : pair.p;
        if (known.isZero(0)) {
            const auto [i, j, tensor] = key;
            base::Random random(context_.seed, base::Purpose::message,
                                {static_cast<uint64_t>(i), static_cast<uint64_t>(j),
                                 static_cast<uint64_t>(t), tensor});
            for (double& value : known) value = 2 * random.uniform() - 1;
        }
        known.normalize();
        if (t % 2 == 1) {
            pair.p = matrix * pair.q;
        } else {
            pair.q = matrix.transpose() * pair.p;
        }
        return (pair.p * pair.q.transpose()).reshaped<Eigen::RowMajor>().transpose();
    }

    ReferenceContext context_;
    std::map<Key, Pair> pairs_;
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

std::unique_ptr<Reference> make_moniqua(Parts parts) {
    return std::make_unique<Moniqua>(std::move(parts));
}
std::unique_ptr<Reference> make_powergossip(Parts parts) {
    return std::make_unique<PowerGossip>(std::move(parts));
}

}  // namespace dbench::conform
