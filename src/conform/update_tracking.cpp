// References of global update tracking, GUT and QG-GUTm (2305.04792; the form of the authors'
// trainer).

#include <nlohmann/json.hpp>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

/// With p = W x, g the gradient at p with weight decay, and the current lr in every quotient:
///     delta = g - (p - x) / lr
///     y = delta - mu {[p - x_prev + (b - 1) (W x_prev - x_prev)] / lr + delta_prev}
///     m = beta m + y;  x+ = x - lr m, with Nesterov's rule y + beta m for m
/// where y = delta in iteration 0 and b = 1 + beta (Nesterov: 1 + beta + beta^2).
/// GUT is beta = 0: b = 1, x+ = x - lr y.
class UpdateTracking : public Reference {
public:
    UpdateTracking(Parts parts, double beta, bool nesterov)
        : optimizer_(std::move(parts.optimizer)),
          mu_(parts.algorithm.at("mu").get<double>()),
          beta_(beta),
          b_(1 + beta + (nesterov ? beta * beta : 0)),
          nesterov_(nesterov),
          m_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        const Matrix p = w * x;
        const Matrix delta = optimizer_->direction_at(it, p) - (p - x) / it.lr;
        Matrix y = delta;
        if (previous_.size() > 0) {
            const Matrix old_gossip = w * previous_ - previous_;
            y -= mu_ * ((p - previous_ + (b_ - 1) * old_gossip) / it.lr + previous_delta_);
        }
        m_ = beta_ * m_ + y;
        previous_ = x;
        previous_delta_ = delta;
        it.record_averaging(x, w);
        const Matrix u = it.lr * (nesterov_ ? Matrix(y + beta_ * m_) : m_);
        it.record_update(u);
        x -= u;
    }
    std::vector<Matrix*> rows() override {
        std::vector<Matrix*> all = {&previous_, &previous_delta_};
        if (beta_ != 0) all.push_back(&m_);
        return all;
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double mu_, beta_, b_;
    bool nesterov_;
    Matrix m_, previous_, previous_delta_;
};

}  // namespace

std::unique_ptr<Reference> make_gut(Parts parts) {
    return std::make_unique<UpdateTracking>(std::move(parts), 0.0, false);
}

std::unique_ptr<Reference> make_qg_gutm(Parts parts) {
    const double beta = parts.algorithm.at("beta").get<double>();
    const bool nesterov = parts.algorithm.at("nesterov").get<bool>();
    return std::make_unique<UpdateTracking>(std::move(parts), beta, nesterov);
}

}  // namespace dbench::conform
