// References of algorithms with inner steps and an outer optimizer that acts on their change.

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "conform/families.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {
namespace {

using base::Json;

/// SlowMo (1910.00643) over a base algorithm. When due, the mean replaces the base's W in that
/// iteration (a base with local steps is averaged even if it would not be). Then, with that mean
/// x_a and the current lr:
///     u = beta u + (x_0 - x_a) / lr;  x_0 <- x_0 - alpha lr u;  all replicas <- x_0
/// x_0 starts as the mean of the replicas' parameters.
class SlowMo : public Reference {
public:
    SlowMo(Parts parts, std::unique_ptr<Reference> base)
        : base_(std::move(base)),
          period_(parts.algorithm.at("period").get<int64_t>()),
          beta_(parts.algorithm.at("beta").get<double>()),
          alpha_(parts.algorithm.at("alpha").get<double>()),
          u_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        if (it.t % period_ == 0) origin_ = it.mean * x;
        if (!is_due(it.t, period_)) return step_between(it, x);

        Iteration with_mean = it;
        with_mean.w = [&it](int64_t) { return it.mean; };
        base_->step(with_mean, x);
        const Matrix average = it.mean * x;
        u_ = beta_ * u_ + (origin_ - average) / it.lr;
        origin_ -= alpha_ * it.lr * u_;
        x = origin_;
    }
    std::vector<Matrix*> rows() override {
        std::vector<Matrix*> all = base_->rows();
        all.push_back(&u_);
        return all;
    }
    int64_t cycle() const override { return std::lcm(period_, base_->cycle()); }
    bool distinguishes_replicas() const override { return base_->distinguishes_replicas(); }

private:
    // An iteration that takes the mean uses no round: the base's next averaging uses the postponed
    // W.
    void step_between(const Iteration& it, Matrix& x) {
        bool used = false;
        Iteration postponed = it;
        postponed.w = [&](int64_t) {
            used = true;
            return it.w(uses_);
        };
        base_->step(postponed, x);
        uses_ += used;
    }

    std::unique_ptr<Reference> base_;
    int64_t uses_ = 0;
    int64_t period_;
    double beta_, alpha_;
    Matrix u_, origin_;  ///< origin: x_0
};

/// Base class: inner steps x <- x - lr d(x) from slow weights. When due, `outer` computes the next
/// slow weights from the result, and all replicas continue from them. W is that of the k-th
/// exchange.
class Outer : public Reference {
public:
    explicit Outer(Parts parts)
        : zero_(Matrix::Zero(parts.context.replicas, parts.context.parameters)),
          optimizer_(std::move(parts.optimizer)),
          period_(parts.algorithm.at("period").get<int64_t>()) {}

    void step(const Iteration& it, Matrix& x) override {
        if (it.t % period_ == 0) slow_ = x;
        optimizer_->step(it, x);
        if (!is_due(it.t, period_)) return;
        slow_ = outer(it, it.w(exchanges_++), slow_, x);
        x = slow_;
    }
    int64_t cycle() const override { return period_; }

protected:
    virtual Matrix outer(const Iteration& it, const Weights& w, const Matrix& slow,
                         const Matrix& x) = 0;

    const Matrix zero_;

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_;
    int64_t exchanges_ = 0;
    Matrix slow_;
};

/// DiLoCo (2311.08105), with SGD and Nesterov momentum by PyTorch's rules:
///     D = theta - W x;  v+ = mu v + D;  theta+ = theta - eta (D + mu v+)
/// with W = J/n in the paper; then x+ = (1 - alpha) theta+ + alpha x. The fragments take turns
/// (here every tensor is a fragment): one is exchanged every period / fragments iterations, with x
/// and W of `delay` iterations before. Iterations without an exchange use the mean inside blocks of
/// gpus_per_node consecutive replicas.
class DiLoCo : public Reference {
public:
    explicit DiLoCo(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          fragments_(parts.algorithm.at("fragments")),
          every_(parts.algorithm.at("period").get<int64_t>() / fragments_),
          delay_(parts.algorithm.at("delay")),
          eta_(parts.algorithm.at("outer_lr")),
          mu_(parts.algorithm.at("outer_momentum")),
          alpha_(parts.algorithm.at("alpha")),
          node_(parts.algorithm.at("gpus_per_node")),
          v_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {
        for (const auto& shape : parts.context.tensors) sizes_.push_back(elements(shape));
        if (sizes_.empty() || fragments_ == 1) sizes_ = {v_.cols()};
    }

    void step(const Iteration& it, Matrix& x) override {
        // If all of x becomes theta, theta holds no information that x does not.
        const bool same = alpha_ == 0 && fragments_ == 1 && it.t % every_ == 0;
        if (it.t == 0 || same) theta_ = x;
        optimizer_->step(it, x);
        if ((it.t + 1 + delay_) % every_ == 0) {
            const Weights w = it.w(exchanges_++);
            const auto count = static_cast<double>(columns().second);
            if (it.recorded) it.record_rows(rows_sent(w) * count / static_cast<double>(x.cols()));
            mixed_ = w * x;
        }
        if ((it.t + 1) % every_ == 0) return use(x);
        if (node_ > 1) it.record_rows(average_blocks(x, node_));
    }
    std::vector<Matrix*> rows() override {
        return alpha_ > 0 ? std::vector<Matrix*>{&v_, &theta_} : std::vector<Matrix*>{&v_};
    }
    int64_t cycle() const override { return every_ * fragments_; }
    bool distinguishes_replicas() const override { return node_ > 1; }

private:
    /// Returns the columns of the fragment that was exchanged last.
    std::pair<Eigen::Index, Eigen::Index> columns() const {
        const auto turn = static_cast<size_t>((exchanges_ - 1) % fragments_);
        return {std::accumulate(sizes_.begin(), sizes_.begin() + turn, int64_t{0}), sizes_[turn]};
    }
    void use(Matrix& x) {
        const auto [first, count] = columns();
        auto theta = theta_.middleCols(first, count), v = v_.middleCols(first, count);
        const Matrix change = theta - mixed_.middleCols(first, count);
        v = mu_ * v + change;
        theta -= eta_ * (change + mu_ * v);
        auto local = x.middleCols(first, count);
        local = (1 - alpha_) * theta + alpha_ * local;
    }

    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t fragments_, every_, delay_;
    double eta_, mu_, alpha_;
    int64_t node_;
    std::vector<int64_t> sizes_;
    int64_t exchanges_ = 0;
    Matrix theta_, v_, mixed_;
};

/// NoLoCo (2506.10911); in the paper W is the mean inside each group:
///     D = x - phi;  d+ = alpha d + beta W D - gamma (phi - W phi);  phi+ = phi + d+
class NoLoCo : public Outer {
public:
    explicit NoLoCo(Parts parts)
        : Outer(std::move(parts)),
          alpha_(parts.algorithm.at("alpha").get<double>()),
          beta_(parts.algorithm.at("beta").get<double>()),
          gamma_(beta_),
          d_(zero_) {
        const Json& gamma = parts.algorithm.at("gamma");
        if (!gamma.is_null()) gamma_ = gamma.get<double>();
    }

    std::vector<Matrix*> rows() override { return {&d_}; }

private:
    Matrix outer(const Iteration& it, const Weights& w, const Matrix& slow,
                 const Matrix& x) override {
        it.record_averaging(x, w, 2);
        d_ = alpha_ * d_ + beta_ * (w * (x - slow)) - gamma_ * (slow - w * slow);
        return slow + d_;
    }

    double alpha_, beta_, gamma_;
    Matrix d_;
};

/// GASLoC (2606.11081), W = I - alpha L:
///     u = theta + eta (x - theta);  theta+ = W u + gamma (u - u_prev), u_prev starts as u
class GasLoc : public Outer {
public:
    explicit GasLoc(Parts parts)
        : Outer(std::move(parts)),
          eta_(parts.algorithm.at("eta").get<double>()),
          gamma_(parts.algorithm.at("gamma").get<double>()) {}

    std::vector<Matrix*> rows() override { return {&previous_}; }

private:
    Matrix outer(const Iteration& it, const Weights& w, const Matrix& slow,
                 const Matrix& x) override {
        const Matrix u = slow + eta_ * (x - slow);
        it.record_averaging(u, w);
        if (previous_.size() == 0) previous_ = u;
        Matrix next = w * u + gamma_ * (u - previous_);
        previous_ = u;
        return next;
    }

    double eta_, gamma_;
    Matrix previous_;
};

/// True if SlowMo accepts this base: one whose iteration ends with averaging.
bool is_slowmo_base(const Json& base) {
    const std::string type = base.at("type").get<std::string>();
    if (type == "dsgd") return base.at("order") == "adapt_then_combine";
    return type == "local_sgd" || type == "averaged_momentum" || type == "qg_dsgdm";
}

}  // namespace

std::unique_ptr<Reference> make_slowmo(Parts parts) {
    const Json& base = parts.algorithm.at("base");
    if (!is_slowmo_base(base)) return nullptr;
    auto reference = make_reference(base, parts.optimizer_spec, parts.context);
    if (!reference) return nullptr;
    return std::make_unique<SlowMo>(std::move(parts), std::move(reference));
}

std::unique_ptr<Reference> make_diloco(Parts parts) {
    return std::make_unique<DiLoCo>(std::move(parts));
}

std::unique_ptr<Reference> make_noloco(Parts parts) {
    return std::make_unique<NoLoCo>(std::move(parts));
}

std::unique_ptr<Reference> make_gasloc(Parts parts) {
    return std::make_unique<GasLoc>(std::move(parts));
}

}  // namespace dbench::conform
