// References of algorithms that decide in each iteration how much is averaged.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/duration.hpp"
#include "conform/families.hpp"
#include "conform/weights.hpp"

namespace dbench::conform {
namespace {

using base::Json;

/// DSGD-AC (2602.02899): x+ = (1 - a) x + a W x - lr d(x), with a = 1 before start_epoch, then
/// a = a_min + (a_max - a_min) (lr / lr_max)^p.
class DsgdAc : public Reference {
public:
    explicit DsgdAc(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          a_min_(parts.algorithm.at("a_min").get<double>()),
          a_max_(parts.algorithm.at("a_max").get<double>()),
          p_(parts.algorithm.at("p").get<double>()),
          lr_max_(parts.context.lr_max),
          start_(parts.algorithm.at("start_epoch").get<double>() *
                 static_cast<double>(parts.context.per_epoch)) {}

    void step(const Iteration& it, Matrix& x) override {
        const bool adapts = static_cast<double>(it.t) >= start_;
        const double a = adapts ? a_min_ + (a_max_ - a_min_) * std::pow(it.lr / lr_max_, p_) : 1.0;
        const Matrix u = -it.lr * optimizer_->direction_at(it, x);
        const Weights w = it.w(it.t);
        it.record_averaging(x, w);
        it.record_update(u);
        x = (1 - a) * x + a * (w * x) + u;
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    double a_min_, a_max_, p_, lr_max_, start_;
};

/// Xi = sqrt(mean_i ||x_i - mean x||^2).
double distance(const Matrix& x) {
    const Matrix spread = x.rowwise() - x.colwise().mean();
    return std::sqrt(spread.squaredNorm() / static_cast<double>(x.rows()));
}

/// Kong et al. 2021: x <- W (x - lr d(x)), then in iterations t with (t + 1) mod every = 0 again x
/// <- W x while Xi > target and fewer than max_rounds averagings were done. Without a given target,
/// the target is `fraction` of the largest Xi so far, each measured in these iterations before the
/// first averaging.
class ConsensusControl : public Reference {
public:
    explicit ConsensusControl(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          max_rounds_(parts.algorithm.at("max_rounds").get<int64_t>()),
          every_(base::to_iterations(parts.algorithm.at("every"),
                                     {.per_epoch = parts.context.per_epoch})) {
        const Json& target = parts.algorithm.at("target");
        if (target.is_null()) {
            fraction_ = parts.algorithm.at("fraction").get<double>();
        } else {
            target_ = target.get<double>();
        }
    }

    void step(const Iteration& it, Matrix& x) override {
        const Matrix u = it.lr * optimizer_->direction_at(it, x);
        it.record_update(u);
        x -= u;
        const Weights w = it.w(it.t);
        it.record_averaging(x, w);
        if (!is_due(it.t, every_)) {
            x = w * x;
            return;
        }
        largest_ = std::max(largest_, distance(x));
        const double target = target_.value_or(fraction_ * largest_);
        x = w * x;
        for (int64_t rounds = 1; rounds < max_rounds_ && distance(x) > target; ++rounds) {
            x = w * x;
            if (it.recorded) it.record_rows(rows_sent(w));
        }
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    std::optional<double> target_;
    double fraction_ = 0;
    int64_t max_rounds_, every_;
    double largest_ = 0;
};

}  // namespace

std::unique_ptr<Reference> make_dsgd_ac(Parts parts) {
    return std::make_unique<DsgdAc>(std::move(parts));
}

std::unique_ptr<Reference> make_consensus_control(Parts parts) {
    return std::make_unique<ConsensusControl>(std::move(parts));
}

}  // namespace dbench::conform
