// References of AD-PSGD (1710.06952) and SWIFT (2210.14026) as lists of events: each event is the
// earliest end of a gradient, and all gradients that end at the same time are handled together.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "conform/families.hpp"

namespace dbench::conform {
namespace {

class Events : public Reference {
public:
    explicit Events(Parts parts)
        : seconds_(parts.algorithm.at("gradient_seconds")),
          jitter_(parts.algorithm.at("jitter")),
          seed_(parts.context.seed),
          optimizer_(std::move(parts.optimizer)) {
        for (int64_t i = 0; i < parts.context.replicas; ++i) {
            own_.push_back(make_local_optimizer(parts.optimizer_spec));
        }
    }

    int64_t span() const override { return 5; }
    bool distinguishes_replicas() const override { return true; }
    std::string not_linear() const override { return "has no iterations that all replicas share"; }

    void step(const Iteration& it, Matrix& x) override {
        const Eigen::Index n = x.rows();
        it.record_no_averaging(x);
        it.record_rows(rows_of(it, n));
        Matrix update = Matrix::Zero(n, x.cols());
        Matrix staleness = Matrix::Zero(it.span, n);
        taken_ = x;
        began_.assign(static_cast<size_t>(n), it.t);
        touched_.assign(static_cast<size_t>(n), 0);
        std::vector<double> ends;
        for (Eigen::Index i = 0; i < n; ++i) ends.push_back(duration(i, it.t));
        for (;;) {
            const double now = *std::min_element(ends.begin(), ends.end());
            if (now == std::numeric_limits<double>::infinity()) break;
            std::vector<Eigen::Index> group;
            for (Eigen::Index i = 0; i < n; ++i) {
                if (ends[static_cast<size_t>(i)] == now) group.push_back(i);
            }
            const Matrix g = optimizer_->gradient(it, taken_);
            for (const Eigen::Index i : group) average(it, i, x);
            for (const Eigen::Index i : group) {
                const int64_t t = began(i);
                staleness(t - it.t, i) = static_cast<double>(behind(i));
                const Matrix u =
                    it.rate(t) * own_[static_cast<size_t>(i)]->direction(taken_.row(i), g.row(i));
                x.row(i) -= u;
                if (t == it.t) update.row(i) = u;
            }
            for (const Eigen::Index i : group) {
                const int64_t next = began(i) + 1;
                if (next == it.t + it.span) {  // waits at the barrier; its last point stays
                    ends[static_cast<size_t>(i)] = std::numeric_limits<double>::infinity();
                    continue;
                }
                began_[static_cast<size_t>(i)] = next;
                taken_.row(i) = x.row(i);
                touched_[static_cast<size_t>(i)] = 0;
                ends[static_cast<size_t>(i)] = now + duration(i, next);
            }
        }
        it.record_update(update);
        if (it.recorded) it.recorded->staleness = staleness;
    }

protected:
    /// Returns the rows that the replicas send in iteration it.t of each.
    virtual double rows_of(const Iteration& it, Eigen::Index n) const = 0;
    virtual void average(const Iteration& it, Eigen::Index i, Matrix& x) = 0;
    virtual int64_t behind(Eigen::Index i) const = 0;

    /// Returns the iteration to which replica i's present gradient belongs.
    int64_t began(Eigen::Index i) const { return began_[static_cast<size_t>(i)]; }
    double uniform(base::Purpose purpose, Eigen::Index i, int64_t t) const {
        return base::Random(seed_, purpose, {static_cast<uint64_t>(i), static_cast<uint64_t>(t)})
            .uniform();
    }

    Matrix taken_;  ///< Row i: the point at which replica i takes its present gradient.
    std::vector<int64_t> touched_;  ///< Averagings of row i since it was taken.

private:
    double duration(Eigen::Index i, int64_t t) const {
        return seconds_ * (1 + jitter_ * (2 * uniform(base::Purpose::compute_time, i, t) - 1));
    }

    double seconds_, jitter_;
    uint64_t seed_;
    std::unique_ptr<LocalOptimizer> optimizer_;         ///< for the gradients of all
    std::vector<std::unique_ptr<LocalOptimizer>> own_;  ///< One optimizer per replica.
    std::vector<int64_t> began_;
};

/// x_i, x_j <- (x_i + x_j) / 2 if i draws j and i < j; then x_i -= lr d(g(taken_i)).
class AdPsgd : public Events {
public:
    using Events::Events;

protected:
    double rows_of(const Iteration& it, Eigen::Index n) const override {
        double rows = 0;
        for (Eigen::Index i = 0; i < n; ++i) rows += drawn(it, i, it.t) > i ? 2 : 0;
        return rows;
    }
    void average(const Iteration& it, Eigen::Index i, Matrix& x) override {
        const Eigen::Index j = drawn(it, i, began(i));
        if (j < i) return;
        const Matrix mean = (x.row(i) + x.row(j)) / 2;
        x.row(i) = x.row(j) = mean;
        ++touched_[static_cast<size_t>(i)];
        ++touched_[static_cast<size_t>(j)];
    }
    int64_t behind(Eigen::Index i) const override { return touched_[static_cast<size_t>(i)]; }

private:
    /// Draws a neighbour of i with the probabilities of row i of W; -1 if i has none.
    Eigen::Index drawn(const Iteration& it, Eigen::Index i, int64_t t) const {
        Eigen::VectorXd shares = Matrix(it.w(t)).row(i).transpose();
        shares[i] = 0;
        double u = uniform(base::Purpose::neighbour, i, t) * shares.sum();
        Eigen::Index last = -1;
        for (Eigen::Index j = 0; j < shares.size(); ++j) {
            if (shares[j] == 0) continue;
            last = j;
            if (u < shares[j]) break;
            u -= shares[j];
        }
        return last;
    }
};

/// x_i <- w_ii x_i + sum_j w_ij taken_j - lr d(g(x_i)).
class Swift : public Events {
public:
    using Events::Events;

protected:
    double rows_of(const Iteration& it, Eigen::Index) const override {
        const Matrix w = it.w(it.t);
        return static_cast<double>((w.array() != 0).count() - (w.diagonal().array() != 0).count());
    }
    void average(const Iteration& it, Eigen::Index i, Matrix& x) override {
        const Matrix w = it.w(began(i));
        Matrix others = taken_;
        others.row(i) = x.row(i);
        oldest_.resize(static_cast<size_t>(x.rows()));
        oldest_[static_cast<size_t>(i)] = began(i);
        for (Eigen::Index j = 0; j < x.rows(); ++j) {
            int64_t& oldest = oldest_[static_cast<size_t>(i)];
            if (w(i, j) != 0) oldest = std::min(oldest, began(j));
        }
        x.row(i) = w.row(i) * others;
    }
    int64_t behind(Eigen::Index i) const override {
        return began(i) - oldest_[static_cast<size_t>(i)];
    }

private:
    std::vector<int64_t> oldest_;  ///< Iteration of the oldest row in the last averaging.
};

}  // namespace

std::unique_ptr<Reference> make_ad_psgd(Parts parts) {
    return std::make_unique<AdPsgd>(std::move(parts));
}

std::unique_ptr<Reference> make_swift(Parts parts) {
    return std::make_unique<Swift>(std::move(parts));
}

}  // namespace dbench::conform
