// References of algorithms with local steps x <- x - lr d(x), which average only in some iterations
// or use other weights in some.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration.hpp"
#include "conform/families.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {
namespace {

using base::Json;

/// Local SGD: x <- x - lr d(x); then x <- W x if (t + 1) mod period = 0, and in every iteration
/// before `start` (post-local SGD, 1808.07217). W is that of the k-th exchange.
class LocalSgd : public Reference {
public:
    explicit LocalSgd(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          period_(parts.algorithm.at("period").get<int64_t>()) {
        const auto start = parts.algorithm.find("start");
        if (start == parts.algorithm.end() || start->is_null()) return;
        // the table excludes a `start` in samples
        start_ = base::to_iterations(*start, {.per_epoch = parts.context.per_epoch});
    }

    void step(const Iteration& it, Matrix& x) override {
        optimizer_->step(it, x);
        if (it.t >= start_ && !is_due(it.t, period_)) return;
        const Weights w = it.w(exchanges_++);
        it.record_averaging(x, w);
        x = w * x;
    }
    int64_t cycle() const override { return period_; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_;
    int64_t start_ = 0;
    int64_t exchanges_ = 0;
};

/// Gossip-PGA (2105.09080): x+ = W (x - lr d(x)), with J/n instead of W when due; otherwise W is
/// that of its k-th use.
class GossipPga : public Reference {
public:
    explicit GossipPga(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          period_(parts.algorithm.at("period").get<int64_t>()) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.record_update(u);
        x -= u;
        const Weights w = is_due(it.t, period_) ? it.mean : it.w(uses_++);
        it.record_averaging(x, w);
        x = w * x;
    }
    int64_t cycle() const override { return period_; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_;
    int64_t uses_ = 0;
};

/// x <- x - lr d(x). Then, if (t + 1) mod outer_period = 0, the graph's W (of its k-th use);
/// otherwise, if (t + 1) mod period = 0, the mean inside blocks of gpus_per_node consecutive
/// replicas.
class HierarchicalAveraging : public Reference {
public:
    explicit HierarchicalAveraging(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          block_(parts.algorithm.at("gpus_per_node").get<int64_t>()),
          period_(parts.algorithm.at("period").get<int64_t>()),
          outer_period_(parts.algorithm.at("outer_period").get<int64_t>()) {}

    void step(const Iteration& it, Matrix& x) override {
        optimizer_->step(it, x);
        if (is_due(it.t, outer_period_)) {
            const Weights w = it.w(exchanges_++);
            it.record_averaging(x, w);
            x = w * x;
        } else if (is_due(it.t, period_)) {
            it.record_rows(average_blocks(x, block_));
        }
    }
    int64_t cycle() const override { return outer_period_; }
    bool distinguishes_replicas() const override { return true; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t block_, period_, outer_period_;
    int64_t exchanges_ = 0;
};

/// CoCoD-SGD: when due x <- W s + x - s, with W s of the previous exchange; then s = x.
class CocodSgd : public Reference {
public:
    explicit CocodSgd(Parts parts)
        : optimizer_(std::move(parts.optimizer)), period_(parts.algorithm.at("period")) {}

    void step(const Iteration& it, Matrix& x) override {
        optimizer_->step(it, x);
        if (!is_due(it.t, period_)) return;
        const Weights w = it.w(exchanges_++);
        it.record_averaging(x, w);
        if (s_.size() > 0) x += mixed_ - s_;
        s_ = x;
        mixed_ = w * s_;
    }
    std::string not_linear() const override { return "uses an averaging of before"; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_, exchanges_ = 0;
    Matrix s_, mixed_;
};

/// Overlap Local-SGD: when due x <- (1 - a) x + a z; b <- beta b + (z - x) / lr; z <- W (z - lr b),
/// which the next exchange uses.
class OverlapLocalSgd : public Reference {
public:
    explicit OverlapLocalSgd(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          period_(parts.algorithm.at("period")),
          alpha_(parts.algorithm.at("alpha")),
          beta_(parts.algorithm.at("beta")),
          b_(Matrix::Zero(parts.context.replicas, parts.context.parameters)) {}

    void step(const Iteration& it, Matrix& x) override {
        if (it.t == 0) z_ = x;
        optimizer_->step(it, x);
        if (!is_due(it.t, period_)) return;
        const Weights w = it.w(exchanges_++);
        it.record_averaging(x, w);
        x = (1 - alpha_) * x + alpha_ * z_;
        b_ = beta_ * b_ + (z_ - x) / it.lr;
        z_ = w * (z_ - it.lr * b_);
    }
    std::string not_linear() const override { return "uses an averaging of before"; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_, exchanges_ = 0;
    double alpha_, beta_;
    Matrix b_, z_;
};

/// FedDKD in the form of algorithms/types/feddkd.cpp: when due the teacher is x, then x <- W x,
/// then distill_steps times x <- W (x - lr_d grad D(x; teacher)). lr_d null: the iteration's rate.
class FedDkd : public Reference {
public:
    explicit FedDkd(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          period_(parts.algorithm.at("period")),
          steps_(parts.algorithm.at("distill_steps")),
          temperature_(parts.algorithm.at("temperature")),
          rate_(parts.algorithm.at("distill_lr")) {}

    void step(const Iteration& it, Matrix& x) override {
        optimizer_->step(it, x);
        if (!is_due(it.t, period_)) return;
        const Weights w = it.w(exchanges_++);
        it.record_averaging(x, w, static_cast<int>(1 + steps_));
        const Matrix teacher = x;
        x = w * x;
        const double rate = rate_.is_null() ? it.lr : rate_.get<double>();
        for (int64_t s = 0; s < steps_; ++s) {
            x = w * (x - rate * it.distillation(x, teacher, temperature_));
        }
    }
    int64_t cycle() const override { return period_; }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    int64_t period_, steps_, exchanges_ = 0;
    double temperature_;
    Json rate_;
};

}  // namespace

std::unique_ptr<Reference> make_feddkd(Parts parts) {
    return std::make_unique<FedDkd>(std::move(parts));
}

std::unique_ptr<Reference> make_local_sgd(Parts parts) {
    return std::make_unique<LocalSgd>(std::move(parts));
}

std::unique_ptr<Reference> make_gossip_pga(Parts parts) {
    return std::make_unique<GossipPga>(std::move(parts));
}

std::unique_ptr<Reference> make_hierarchical_averaging(Parts parts) {
    return std::make_unique<HierarchicalAveraging>(std::move(parts));
}

std::unique_ptr<Reference> make_cocod_sgd(Parts parts) {
    return std::make_unique<CocodSgd>(std::move(parts));
}

std::unique_ptr<Reference> make_overlap_local_sgd(Parts parts) {
    return std::make_unique<OverlapLocalSgd>(std::move(parts));
}

}  // namespace dbench::conform
