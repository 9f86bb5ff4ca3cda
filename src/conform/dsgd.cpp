// References of DSGD in its three orders, and of centralized SGD, which averages all gradients.

#include <nlohmann/json.hpp>
#include <string>

#include "conform/families.hpp"

namespace dbench::conform {
namespace {

/// adapt_then_combine:  x+ = W (x - lr d(x))        (diffusion)
/// combine_while_adapt: x+ = W x - lr d(x)          (Lian et al., 1705.09056)
/// combine_then_adapt:  p = W x;  x+ = p - lr d(p)
class Dsgd : public Reference {
public:
    explicit Dsgd(Parts parts)
        : optimizer_(std::move(parts.optimizer)),
          order_(parts.algorithm.at("order").get<std::string>()) {}

    void step(const Iteration& it, Matrix& x) override {
        const Weights w = it.w(it.t);
        if (order_ != "adapt_then_combine") it.record_averaging(x, w);
        if (order_ == "combine_then_adapt") x = w * x;
        const Matrix u = -it.lr * optimizer_->direction_at(it, x);
        it.record_update(u);
        if (order_ == "combine_while_adapt") x = w * x;
        x += u;
        if (order_ != "adapt_then_combine") return;
        it.record_averaging(x, w);
        x = w * x;
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
    std::string order_;
};

/// x+ = x - lr d(mean_j g_j), equal on all replicas.
class Centralized : public Reference {
public:
    explicit Centralized(Parts parts) : optimizer_(std::move(parts.optimizer)) {}

    void step(const Iteration& it, Matrix& x) override {
        const Matrix mean = optimizer_->gradient(it, x).colwise().mean();
        const Matrix u = it.lr * optimizer_->direction(x, mean.replicate(x.rows(), 1));
        it.record_update(u);
        x -= u;
        it.record_averaging(x, it.mean);  // averages the gradients
    }

private:
    std::unique_ptr<LocalOptimizer> optimizer_;
};

}  // namespace

std::unique_ptr<Reference> make_dsgd(Parts parts) {
    return std::make_unique<Dsgd>(std::move(parts));
}

std::unique_ptr<Reference> make_centralized(Parts parts) {
    return std::make_unique<Centralized>(std::move(parts));
}

}  // namespace dbench::conform
