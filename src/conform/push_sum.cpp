// References of push-sum algorithms: x is sent and kept, z = x / w are the parameters, and the
// columns of A sum to 1.

#include <deque>
#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

using Vector = Eigen::VectorXd;

class PushSum : public Reference {
public:
    explicit PushSum(Parts& parts)
        : optimizer_(std::move(parts.optimizer)), w_(Vector::Ones(parts.context.replicas)) {}
    std::string not_linear() const override { return "divides by weights of its own"; }

protected:
    Matrix unweighed(const Matrix& x) const { return w_.cwiseInverse().asDiagonal() * x; }
    Matrix weighed(const Matrix& z) const { return w_.asDiagonal() * z; }
    /// Records one row, or a message with its share, and 8 bytes over each link.
    static void sends_weights(const Iteration& it, const Weights& a, Eigen::Index columns) {
        double links = 0;
        for (Eigen::Index i = 0; i < a.outerSize(); ++i) {
            for (Weights::InnerIterator entry(a, i); entry; ++entry) {
                links += entry.row() != entry.col() && entry.value() != 0;
            }
        }
        it.record_rows(links * it.weight_share / static_cast<double>(columns));
    }

    std::unique_ptr<LocalOptimizer> optimizer_;
    Vector w_;
};

/// atc: x+ = A (x - lr d(z)); awc: x+ = A x - lr d(z); w+ = A w.
class Sgp final : public PushSum {
public:
    explicit Sgp(Parts parts) : PushSum(parts), atc_(parts.algorithm.at("order") == "atc") {}

    void step(const Iteration& it, Matrix& z) override {
        const Weights a = it.w(it.t);
        const Matrix u = it.lr * optimizer_->direction_at(it, z), x = weighed(z);
        it.record_update(u);
        it.record_averaging(atc_ ? unweighed(x - u) : z, a);
        sends_weights(it, a, z.cols());
        const Matrix next = atc_ ? Matrix(a * (x - u)) : Matrix(a * x - u);
        w_ = a * w_;
        z = unweighed(next);
    }

private:
    bool atc_;
};

/// x+ = D x - lr d(z) + [O x] of tau iterations ago; w likewise.
class Osgp final : public PushSum {
public:
    explicit Osgp(Parts parts) : PushSum(parts), tau_(parts.algorithm.at("tau")) {}

    void step(const Iteration& it, Matrix& z) override {
        const Weights a = it.w(it.t);
        const Matrix full(a), own = full.diagonal().asDiagonal(), other = full - own;
        const Matrix u = it.lr * optimizer_->direction_at(it, z), x = weighed(z);
        it.record_update(u);
        it.record_averaging(z, a);
        sends_weights(it, a, z.cols());
        rows_.push_back(other * x);
        weights_.push_back(other * w_);
        Matrix next = own * x - u;
        Vector w = own * w_;
        if (it.t >= tau_) {
            next += rows_.front();
            w += weights_.front();
            rows_.pop_front();
            weights_.pop_front();
        }
        w_ = w;
        z = unweighed(next);
    }

private:
    int64_t tau_;
    std::deque<Matrix> rows_;
    std::deque<Vector> weights_;
};

/// q = Q(x - xhat); xhat += q; v = x - xhat + A xhat; w+ = A w; z = v / w+; x+ = v - lr d(z).
class QuantizedPushSum final : public PushSum {
public:
    explicit QuantizedPushSum(Parts parts)
        : PushSum(parts), known_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& z) override {
        const Weights a = it.w(it.t);
        const Matrix x = weighed(z);
        it.record_no_averaging(z);
        known_ += it.compress(x - known_, 0);
        it.record_messages(a);
        sends_weights(it, a, z.cols());
        const Matrix v = x - known_ + a * known_;
        w_ = a * w_;
        const Matrix u = it.lr * optimizer_->direction_at(it, unweighed(v));
        it.record_update(u);
        z = unweighed(v - u);
    }

private:
    Matrix known_;
};

}  // namespace

std::unique_ptr<Reference> make_sgp(Parts parts) { return std::make_unique<Sgp>(std::move(parts)); }
std::unique_ptr<Reference> make_osgp(Parts parts) {
    return std::make_unique<Osgp>(std::move(parts));
}
std::unique_ptr<Reference> make_quantized_push_sum(Parts parts) {
    return std::make_unique<QuantizedPushSum>(std::move(parts));
}

}  // namespace dbench::conform
